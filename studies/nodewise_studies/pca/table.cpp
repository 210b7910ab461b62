// SPDX-License-Identifier: BSD-3-Clause
#include "pca.h"
#include "study.h"

namespace {

const nw_variant kVariants[] = {
    {"plain", NW_VARIANT, "", pca::plain, pca::prepare_plain, nullptr, nullptr},
    {"blocked", NW_VARIANT, "", pca::blocked, nullptr, nullptr, nullptr},
    {"simd", NW_VARIANT, "simd", pca::simd, nullptr, pca::simd_work, nullptr},
    {"read", NW_LIMIT, "", pca::read_all, nullptr, nullptr, nullptr},
};

const nw_study kStudy = {NW_ABI,     "pca",     pca::layout,  pca::fill, pca::reset,
                         pca::check, pca::work, pca::release, kVariants, sizeof kVariants / sizeof kVariants[0]};

}  // namespace

extern "C" const nw_study* nodewise_study(void) { return &kStudy; }
