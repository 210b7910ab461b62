// SPDX-License-Identifier: BSD-3-Clause
#include "variants.h"

namespace {

constexpr nw_variant kVariants[] = {
    {"naive", NW_VARIANT, "", dgemm::naive, nullptr, nullptr, nullptr},
    {"tiled", NW_VARIANT, "", dgemm::tiled, dgemm::prepare_tiled, nullptr, nullptr},
#if defined(__x86_64__)
    {"registers", NW_VARIANT, "avx512f", dgemm::registers_avx512, dgemm::prepare_registers_avx512, nullptr, nullptr},
    {"prefetch", NW_VARIANT, "avx512f", dgemm::prefetch_avx512, dgemm::prepare_registers_avx512, nullptr, nullptr},
    {"registers-avx2", NW_VARIANT, "avx2,fma", dgemm::registers_avx2, dgemm::prepare_registers_avx2, nullptr, nullptr},
    {"prefetch-avx2", NW_VARIANT, "avx2,fma", dgemm::prefetch_avx2, dgemm::prepare_registers_avx2, nullptr, nullptr},
#endif
    {"best", NW_VARIANT, "", dgemm::best, dgemm::prepare_best, nullptr, nullptr},
#if defined(__x86_64__)
    {"best-avx512", NW_VARIANT, "avx512f,avx512bw,avx512dq,avx512vl", dgemm::best_avx512, dgemm::prepare_best_avx512,
     nullptr, nullptr},
    {"best-avx2", NW_VARIANT, "avx2,fma", dgemm::best_avx2, dgemm::prepare_best_avx2, nullptr, nullptr},
#endif
    {"best-simd", NW_VARIANT, "simd", dgemm::best_simd, dgemm::prepare_best_simd, nullptr, nullptr},
    {"openblas", NW_PEER, "", dgemm::openblas64, dgemm::prepare_openblas64, nullptr, "openblas"},
    {"openblas-skylakex", NW_PEER, "", dgemm::openblas64, dgemm::prepare_openblas64, nullptr, "openblas-skylakex"},
    {"openblas-system", NW_PEER, "", dgemm::openblas, dgemm::prepare_openblas, nullptr, "openblas-system"},
    {"blis", NW_PEER, "", dgemm::blis, dgemm::prepare_blis, nullptr, "blis"},
    {"mkl", NW_PEER, "", dgemm::mkl, dgemm::prepare_mkl, nullptr, "mkl"},
};

constexpr nw_study kStudy{
    NW_ABI,       "dgemm",     dgemm::layout,  dgemm::fill, dgemm::reset,
    dgemm::check, dgemm::work, dgemm::release, kVariants,   sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
