// SPDX-License-Identifier: BSD-3-Clause
#include "clip.h"

namespace {

constexpr nw_variant kVariants[] = {
    {"stored", NW_VARIANT, "", video::stored, nullptr, nullptr, nullptr},
};

constexpr nw_study kStudy{
    NW_ABI,       "video",     video::layout, video::fill, nullptr,
    video::check, video::work, nullptr,       kVariants,   sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
