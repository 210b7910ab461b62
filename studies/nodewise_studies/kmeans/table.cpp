// SPDX-License-Identifier: BSD-3-Clause
// The study's table.
#include "kmeans.h"

namespace {

using namespace kmeans;

constexpr nw_variant kVariants[] = {
    {"loop", NW_VARIANT, "", loop, prepare_every, nullptr, nullptr},
    {"split", NW_VARIANT, "", split, prepare_every, nullptr, nullptr},
    {"split-int", NW_VARIANT, "", split_int, prepare_every, nullptr, nullptr},
    {"split-unsigned", NW_VARIANT, "", split_unsigned, prepare_every, nullptr, nullptr},
    {"simd", NW_VARIANT, "simd", simd, simd_prepare, nullptr, nullptr},
    {"boxes", NW_VARIANT, "simd", boxes, boxes_prepare, boxes_work, nullptr},
    {"read", NW_LIMIT, "", read_points, nullptr, nullptr, nullptr},
};

constexpr nw_study kStudy = {NW_ABI, "kmeans", layout,  fill,      nullptr,
                             check,  work,     release, kVariants, sizeof kVariants / sizeof kVariants[0]};

}  // namespace

extern "C" const nw_study* nodewise_study(void) { return &kStudy; }
