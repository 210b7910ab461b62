// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {.name = "serial-O0", .run = veclog::serial_o0},
    {.name = "serial-O1", .run = veclog::serial_o1},
    {.name = "serial-O2", .run = veclog::serial_o2},
    {.name = "serial-O3", .run = veclog::serial_o3},
    {.name = "parallel-O0", .run = veclog::parallel_o0},
    {.name = "parallel-O1", .run = veclog::parallel_o1},
    {.name = "parallel-O2", .run = veclog::parallel_o2},
    {.name = "parallel-O3", .run = veclog::parallel_o3},
    {.name = "simd", .needs = "simd", .run = veclog::simd},
#if defined(__x86_64__)
    {.name = "libmvec-avx2", .kind = NW_PEER, .needs = "avx2,fma", .run = veclog::libmvec_avx2},
    {.name = "libmvec-avx512", .kind = NW_PEER, .needs = "avx512f", .run = veclog::libmvec_avx512},
    {.name = "svml",
     .kind = NW_PEER,
     .needs = "avx512f",
     .run = veclog::by_vector_function,
     .prepare = veclog::svml_prepare,
     .library = "svml"},
    {.name = "svml-ha",
     .kind = NW_PEER,
     .needs = "avx512f",
     .run = veclog::by_vector_function,
     .prepare = veclog::svml_ha_prepare,
     .library = "svml"},
    {.name = "sleef-u10",
     .kind = NW_PEER,
     .needs = "avx512f",
     .run = veclog::by_vector_function,
     .prepare = veclog::sleef_u10_prepare,
     .library = "sleef"},
    {.name = "sleef-u35",
     .kind = NW_PEER,
     .needs = "avx512f",
     .run = veclog::by_vector_function,
     .prepare = veclog::sleef_u35_prepare,
     .library = "sleef"},
#endif
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "veclog",
    .layout = veclog::layout,
    .fill = veclog::fill,
    .check = veclog::check,
    .work = veclog::work,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
