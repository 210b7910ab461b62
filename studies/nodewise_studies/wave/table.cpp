// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {.name = "plain", .run = wave::plain},
    {.name = "simd", .needs = "simd", .run = wave::simd},
    {.name = "blocked", .needs = "simd", .run = wave::blocked},
    {.name = "temporal", .needs = "simd", .run = wave::temporal},
    {.name = "stream", .kind = NW_LIMIT, .needs = "simd", .run = wave::stream},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "wave",
    .layout = wave::layout,
    .fill = wave::fill,
    .reset = wave::reset,
    .check = wave::check,
    .work = wave::work,
    .release = wave::release,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
