// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {.name = "chase", .run = latency::chase},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "latency",
    .layout = latency::layout,
    .fill = latency::fill,
    .reset = latency::reset,
    .check = latency::check,
    .work = latency::work,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
