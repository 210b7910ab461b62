// SPDX-License-Identifier: BSD-3-Clause
#include "chains.h"
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {.name = "f64", .needs = "simd", .run = flops::f64},
    {.name = "f32", .needs = "simd", .run = flops::f32},
    {.name = "plain", .run = flops::plain},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "flops",
    .layout = flops::layout,
    .fill = flops::fill,
    .reset = flops::reset,
    .check = flops::check,
    .work = flops::work,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
