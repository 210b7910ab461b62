// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {.name = "original", .run = trapezoid::original, .work = trapezoid::work_original},
    {.name = "second", .run = trapezoid::second, .work = trapezoid::work_second},
    {.name = "third", .needs = "simd", .run = trapezoid::third, .work = trapezoid::work_third},
    {.name = "fourth", .needs = "simd", .run = trapezoid::fourth, .work = trapezoid::work_fourth},
    {.name = "threaded",
     .needs = "simd",
     .run = trapezoid::threaded,
     .prepare = trapezoid::prepare_parts,
     .work = trapezoid::work_fourth},
    {.name = "quads",
     .needs = "simd",
     .run = trapezoid::quads,
     .prepare = trapezoid::prepare_parts,
     .work = trapezoid::work_quads},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "trapezoid",
    .layout = trapezoid::layout,
    .fill = trapezoid::fill,
    .check = trapezoid::check,
    .work = trapezoid::work,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
