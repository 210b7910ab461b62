// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {.name = "stream", .run = hash::hash_all, .prepare = hash::prepare_stream},
    {.name = "instructions", .run = hash::hash_all, .prepare = hash::prepare_instructions},
    {.name = "lanes", .needs = "simd", .run = hash::hash_all, .prepare = hash::prepare_lanes},
    {.name = "best", .needs = "simd", .run = hash::hash_all, .prepare = hash::prepare_best},
    {.name = "pipeline", .needs = "simd", .run = hash::pipeline, .prepare = hash::prepare_pipeline},
    {.name = "openssl", .kind = NW_PEER, .run = hash::openssl, .prepare = hash::prepare_openssl, .library = "crypto"},
    {.name = "isal_crypto",
     .kind = NW_PEER,
     .run = hash::isal_crypto,
     .prepare = hash::prepare_isal_crypto,
     .library = "isal_crypto"},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "hash",
    .layout = hash::layout,
    .fill = hash::fill,
    .reset = hash::reset,
    .check = hash::check,
    .work = hash::work,
    .release = hash::release,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
