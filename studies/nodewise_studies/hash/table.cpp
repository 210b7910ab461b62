// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {"stream", NW_VARIANT, "", hash::hash_all, hash::prepare_stream, nullptr, nullptr},
    {"instructions", NW_VARIANT, "", hash::hash_all, hash::prepare_instructions, nullptr, nullptr},
    {"lanes", NW_VARIANT, "simd", hash::hash_all, hash::prepare_lanes, nullptr, nullptr},
    {"best", NW_VARIANT, "simd", hash::hash_all, hash::prepare_best, nullptr, nullptr},
    {"pipeline", NW_VARIANT, "simd", hash::pipeline, hash::prepare_pipeline, nullptr, nullptr},
    {"openssl", NW_PEER, "", hash::openssl, hash::prepare_openssl, nullptr, "crypto"},
    {"isal_crypto", NW_PEER, "", hash::isal_crypto, hash::prepare_isal_crypto, nullptr, "isal_crypto"},
};

constexpr nw_study kStudy{
    NW_ABI,      "hash",     hash::layout,  hash::fill, hash::reset,
    hash::check, hash::work, hash::release, kVariants,  sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
