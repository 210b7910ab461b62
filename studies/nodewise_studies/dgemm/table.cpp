// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {.name = "naive", .run = dgemm::naive},
    {.name = "tiled", .run = dgemm::tiled, .prepare = dgemm::prepare_tiled},
#if defined(__x86_64__)
    {.name = "registers",
     .needs = "avx512f",
     .run = dgemm::registers_avx512,
     .prepare = dgemm::prepare_registers_avx512},
    {.name = "prefetch", .needs = "avx512f", .run = dgemm::prefetch_avx512, .prepare = dgemm::prepare_registers_avx512},
    {.name = "registers-avx2",
     .needs = "avx2,fma",
     .run = dgemm::registers_avx2,
     .prepare = dgemm::prepare_registers_avx2},
    {.name = "prefetch-avx2",
     .needs = "avx2,fma",
     .run = dgemm::prefetch_avx2,
     .prepare = dgemm::prepare_registers_avx2},
#endif
    {.name = "best", .run = dgemm::best, .prepare = dgemm::prepare_best},
#if defined(__x86_64__)
    {.name = "best-avx512",
     .needs = "avx512f,avx512bw,avx512dq,avx512vl",
     .run = dgemm::best_avx512,
     .prepare = dgemm::prepare_best_avx512},
    {.name = "best-avx2", .needs = "avx2,fma", .run = dgemm::best_avx2, .prepare = dgemm::prepare_best_avx2},
#endif
    {.name = "best-simd", .needs = "simd", .run = dgemm::best_simd, .prepare = dgemm::prepare_best_simd},
    {.name = "openblas",
     .kind = NW_PEER,
     .run = dgemm::openblas64,
     .prepare = dgemm::prepare_openblas64,
     .library = "openblas"},
    {.name = "openblas-skylakex",
     .kind = NW_PEER,
     .run = dgemm::openblas64,
     .prepare = dgemm::prepare_openblas64,
     .library = "openblas-skylakex"},
    {.name = "openblas-system",
     .kind = NW_PEER,
     .run = dgemm::openblas,
     .prepare = dgemm::prepare_openblas,
     .library = "openblas-system"},
    {.name = "blis", .kind = NW_PEER, .run = dgemm::blis, .prepare = dgemm::prepare_blis, .library = "blis"},
    {.name = "mkl", .kind = NW_PEER, .run = dgemm::mkl, .prepare = dgemm::prepare_mkl, .library = "mkl"},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "dgemm",
    .layout = dgemm::layout,
    .fill = dgemm::fill,
    .reset = dgemm::reset,
    .check = dgemm::check,
    .work = dgemm::work,
    .release = dgemm::release,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
