// SPDX-License-Identifier: BSD-3-Clause
#include "streams.h"
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {.name = "triad", .needs = "simd", .run = bandwidth::triad},
    {.name = "copy", .needs = "simd", .run = bandwidth::copy, .work = bandwidth::copy_work},
    {.name = "write", .needs = "simd", .run = bandwidth::write, .work = bandwidth::write_work},
    {.name = "read",
     .needs = "simd",
     .run = bandwidth::read,
     .prepare = bandwidth::prepare_read,
     .work = bandwidth::read_work},
    {.name = "triad_cached", .needs = "simd", .run = bandwidth::triad_cached},
    {.name = "copy_cached", .needs = "simd", .run = bandwidth::copy_cached, .work = bandwidth::copy_work},
    {.name = "write_cached", .needs = "simd", .run = bandwidth::write_cached, .work = bandwidth::write_work},
    {.name = "plain", .run = bandwidth::plain},
    {.name = "memcpy", .kind = NW_PEER, .run = bandwidth::memcpy_peer, .work = bandwidth::copy_work},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "bandwidth",
    .layout = bandwidth::layout,
    .fill = bandwidth::fill,
    .reset = bandwidth::reset,
    .check = bandwidth::check,
    .work = bandwidth::work,
    .release = bandwidth::release,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
