// SPDX-License-Identifier: BSD-3-Clause
#include "sort.h"
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {.name = "bucketed", .run = is::bucketed, .prepare = is::prepare_bucketed},
    {.name = "counting", .run = is::counting, .prepare = is::prepare_counting},
    {.name = "narrow", .run = is::narrow, .prepare = is::prepare_narrow},
    {.name = "read", .kind = NW_LIMIT, .run = is::read_keys},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "is",
    .layout = is::layout,
    .fill = is::fill,
    .reset = is::reset,
    .check = is::check,
    .work = is::work,
    .release = is::release,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
