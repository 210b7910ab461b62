// SPDX-License-Identifier: BSD-3-Clause
// The study's table.
#include "study.h"

namespace {

using namespace kmeans;

constexpr nw_variant kVariants[] = {
    {.name = "loop", .run = loop, .prepare = prepare_every},
    {.name = "split", .run = split, .prepare = prepare_every},
    {.name = "split-int", .run = split_int, .prepare = prepare_every},
    {.name = "split-unsigned", .run = split_unsigned, .prepare = prepare_every},
    {.name = "simd", .needs = "simd", .run = simd, .prepare = simd_prepare},
    {.name = "boxes", .needs = "simd", .run = boxes, .prepare = boxes_prepare, .work = boxes_work},
    {.name = "read", .kind = NW_LIMIT, .run = read_points},
};

constexpr nw_study kStudy = {
    .abi = NW_ABI,
    .name = "kmeans",
    .layout = layout,
    .fill = fill,
    .check = check,
    .work = work,
    .release = release,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof kVariants[0],
};

}  // namespace

extern "C" const nw_study* nodewise_study(void) { return &kStudy; }
