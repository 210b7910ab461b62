// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {.name = "galois", .run = parity::galois},
    {.name = "pairwise", .needs = "simd", .run = parity::pairwise},
    {.name = "array", .needs = "simd", .run = parity::array},
    {.name = "array_shuffle", .needs = "simd", .run = parity::array_shuffle},
    {.name = "isal", .kind = NW_PEER, .run = parity::isal, .library = "isal"},
    {.name = "isal_ec_encode_data", .kind = NW_PEER, .run = parity::isal_code, .library = "isal"},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "parity",
    .layout = parity::layout,
    .fill = parity::fill,
    .reset = parity::reset,
    .check = parity::check,
    .work = parity::work,
    .release = parity::release,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
