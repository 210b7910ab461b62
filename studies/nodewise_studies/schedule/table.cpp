// SPDX-License-Identifier: BSD-3-Clause
#include "product.h"

namespace {

constexpr nw_variant kVariants[] = {
    {"static", NW_VARIANT, "", schedule::with_static, schedule::prepare, nullptr, nullptr},
    {"dynamic", NW_VARIANT, "", schedule::with_dynamic, schedule::prepare, nullptr, nullptr},
    {"monotonic", NW_VARIANT, "", schedule::with_monotonic, schedule::prepare, nullptr, nullptr},
    {"guided", NW_VARIANT, "", schedule::with_guided, schedule::prepare, nullptr, nullptr},
    {"auto", NW_VARIANT, "", schedule::with_auto, schedule::prepare, nullptr, nullptr},
    {"runtime", NW_VARIANT, "", schedule::with_runtime, schedule::prepare, nullptr, nullptr},
    {"taskloop", NW_VARIANT, "", schedule::with_taskloop, schedule::prepare, nullptr, nullptr},
    {"by_work", NW_VARIANT, "", schedule::by_work, schedule::prepare, nullptr, nullptr},
    {"std_thread", NW_PEER, "", schedule::std_thread, schedule::prepare, nullptr, nullptr},
};

constexpr nw_study kStudy{
    NW_ABI,          "schedule",     schedule::layout, schedule::fill, schedule::reset,
    schedule::check, schedule::work, nullptr,          kVariants,      sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
