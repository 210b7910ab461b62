// SPDX-License-Identifier: BSD-3-Clause
#include "chains.h"
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {"f64", NW_VARIANT, "simd", flops::f64, nullptr, nullptr, nullptr},
    {"f32", NW_VARIANT, "simd", flops::f32, nullptr, nullptr, nullptr},
    {"plain", NW_VARIANT, "", flops::plain, nullptr, nullptr, nullptr},
};

constexpr nw_study kStudy{
    NW_ABI,       "flops",     flops::layout, flops::fill, flops::reset,
    flops::check, flops::work, nullptr,       kVariants,   sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
