// SPDX-License-Identifier: BSD-3-Clause
#include "rule.h"

namespace {

constexpr nw_variant kVariants[] = {
    {"original", NW_VARIANT, "", trapezoid::original, nullptr, trapezoid::work_original, nullptr},
    {"second", NW_VARIANT, "", trapezoid::second, nullptr, trapezoid::work_second, nullptr},
    {"third", NW_VARIANT, "simd", trapezoid::third, nullptr, trapezoid::work_third, nullptr},
    {"fourth", NW_VARIANT, "simd", trapezoid::fourth, nullptr, trapezoid::work_fourth, nullptr},
    {"threaded", NW_VARIANT, "simd", trapezoid::threaded, trapezoid::prepare_parts, trapezoid::work_fourth, nullptr},
    {"quads", NW_VARIANT, "simd", trapezoid::quads, trapezoid::prepare_parts, trapezoid::work_quads, nullptr},
};

constexpr nw_study kStudy{
    NW_ABI,           "trapezoid",     trapezoid::layout, trapezoid::fill, nullptr,
    trapezoid::check, trapezoid::work, nullptr,           kVariants,       sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
