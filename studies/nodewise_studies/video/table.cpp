// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {.name = "stored", .run = video::stored},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "video",
    .layout = video::layout,
    .fill = video::fill,
    .check = video::check,
    .work = video::work,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
