// SPDX-License-Identifier: BSD-3-Clause
#include "streams.h"
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {"triad", NW_VARIANT, "simd", bandwidth::triad, nullptr, nullptr, nullptr},
    {"copy", NW_VARIANT, "simd", bandwidth::copy, nullptr, bandwidth::copy_work, nullptr},
    {"write", NW_VARIANT, "simd", bandwidth::write, nullptr, bandwidth::write_work, nullptr},
    {"read", NW_VARIANT, "simd", bandwidth::read, bandwidth::prepare_read, bandwidth::read_work, nullptr},
    {"triad_cached", NW_VARIANT, "simd", bandwidth::triad_cached, nullptr, nullptr, nullptr},
    {"copy_cached", NW_VARIANT, "simd", bandwidth::copy_cached, nullptr, bandwidth::copy_work, nullptr},
    {"write_cached", NW_VARIANT, "simd", bandwidth::write_cached, nullptr, bandwidth::write_work, nullptr},
    {"plain", NW_VARIANT, "", bandwidth::plain, nullptr, nullptr, nullptr},
    {"memcpy", NW_PEER, "", bandwidth::memcpy_peer, nullptr, bandwidth::copy_work, nullptr},
};

constexpr nw_study kStudy{
    NW_ABI,           "bandwidth",     bandwidth::layout,  bandwidth::fill, bandwidth::reset,
    bandwidth::check, bandwidth::work, bandwidth::release, kVariants,       sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
