// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {"galois", NW_VARIANT, "", parity::galois, nullptr, nullptr, nullptr},
    {"pairwise", NW_VARIANT, "simd", parity::pairwise, nullptr, nullptr, nullptr},
    {"array", NW_VARIANT, "simd", parity::array, nullptr, nullptr, nullptr},
    {"array_shuffle", NW_VARIANT, "simd", parity::array_shuffle, nullptr, nullptr, nullptr},
    {"isal", NW_PEER, "", parity::isal, nullptr, nullptr, "isal"},
    {"isal_ec_encode_data", NW_PEER, "", parity::isal_code, nullptr, nullptr, "isal"},
};

constexpr nw_study kStudy{
    NW_ABI,        "parity",     parity::layout,  parity::fill, parity::reset,
    parity::check, parity::work, parity::release, kVariants,    sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
