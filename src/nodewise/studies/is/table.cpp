// SPDX-License-Identifier: BSD-3-Clause
#include "sort.h"
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {"bucketed", NW_VARIANT, "", is::bucketed, is::prepare_bucketed, nullptr, nullptr},
    {"counting", NW_VARIANT, "", is::counting, is::prepare_counting, nullptr, nullptr},
    {"narrow", NW_VARIANT, "", is::narrow, is::prepare_narrow, nullptr, nullptr},
    {"read", NW_LIMIT, "", is::read_keys, nullptr, nullptr, nullptr},
};

constexpr nw_study kStudy{
    NW_ABI,    "is",     is::layout,  is::fill,  is::reset,
    is::check, is::work, is::release, kVariants, sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
