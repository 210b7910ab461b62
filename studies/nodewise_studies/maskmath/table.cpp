// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {.name = "branch", .run = maskmath::branch},
    {.name = "blend", .needs = "simd", .run = maskmath::blend, .prepare = maskmath::choose_root},
    {.name = "native", .needs = "simd", .run = maskmath::native, .prepare = maskmath::choose_root},
    {.name = "compress", .needs = "simd", .run = maskmath::compress, .prepare = maskmath::choose_root},
    {.name = "best", .needs = "simd", .run = maskmath::best, .prepare = maskmath::choose_way},
    {.name = "move", .kind = NW_LIMIT, .needs = "simd", .run = maskmath::move},
#if defined(__x86_64__)
    {.name = "svml",
     .kind = NW_PEER,
     .needs = "avx512f,avx512bw,avx512vl",
     .run = maskmath::by_vector_function,
     .prepare = maskmath::svml_prepare,
     .library = "svml"},
    {.name = "svml-ha",
     .kind = NW_PEER,
     .needs = "avx512f,avx512bw,avx512vl",
     .run = maskmath::by_vector_function,
     .prepare = maskmath::svml_ha_prepare,
     .library = "svml"},
    {.name = "sleef-u10",
     .kind = NW_PEER,
     .needs = "avx512f,avx512bw,avx512vl",
     .run = maskmath::by_vector_function,
     .prepare = maskmath::sleef_u10_prepare,
     .library = "sleef"},
    {.name = "sleef-u35",
     .kind = NW_PEER,
     .needs = "avx512f,avx512bw,avx512vl",
     .run = maskmath::by_vector_function,
     .prepare = maskmath::sleef_u35_prepare,
     .library = "sleef"},
    {.name = "libmvec",
     .kind = NW_PEER,
     .needs = "avx512f,avx512bw,avx512vl",
     .run = maskmath::by_vector_function,
     .prepare = maskmath::libmvec_prepare},
#endif
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "maskmath",
    .layout = maskmath::layout,
    .fill = maskmath::fill,
    .check = maskmath::check,
    .work = maskmath::work,
    .release = maskmath::release,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
