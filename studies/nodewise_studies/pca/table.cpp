// SPDX-License-Identifier: BSD-3-Clause
#include "pca.h"
#include "study.h"

namespace {

const nw_variant kVariants[] = {
    {.name = "plain", .run = pca::plain, .prepare = pca::prepare_plain},
    {.name = "blocked", .run = pca::blocked},
    {.name = "simd", .needs = "simd", .run = pca::simd, .work = pca::simd_work},
    {.name = "randomized", .needs = "simd", .run = pca::randomized, .work = pca::randomized_work},
    {.name = "read", .kind = NW_LIMIT, .run = pca::read_all},
};

const nw_study kStudy = {
    .abi = NW_ABI,
    .name = "pca",
    .layout = pca::layout,
    .fill = pca::fill,
    .reset = pca::reset,
    .check = pca::check,
    .work = pca::work,
    .release = pca::release,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof kVariants[0],
};

}  // namespace

extern "C" const nw_study* nodewise_study(void) { return &kStudy; }
