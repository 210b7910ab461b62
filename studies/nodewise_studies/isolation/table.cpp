// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    // what is run inside, by a worker of its own
    {.name = "direct", .run = isolation::direct},
    // the kernel by itself, without a start, is what every kind comes up to at most
    {.name = "alone", .kind = NW_LIMIT, .run = isolation::direct},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "isolation",
    .layout = isolation::layout,
    .fill = isolation::fill,
    .reset = isolation::reset,
    .check = isolation::check,
    .work = isolation::work,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
