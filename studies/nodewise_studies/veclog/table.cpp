// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {"serial-O0", NW_VARIANT, "", veclog::serial_o0, nullptr, nullptr, nullptr},
    {"serial-O1", NW_VARIANT, "", veclog::serial_o1, nullptr, nullptr, nullptr},
    {"serial-O2", NW_VARIANT, "", veclog::serial_o2, nullptr, nullptr, nullptr},
    {"serial-O3", NW_VARIANT, "", veclog::serial_o3, nullptr, nullptr, nullptr},
    {"parallel-O0", NW_VARIANT, "", veclog::parallel_o0, nullptr, nullptr, nullptr},
    {"parallel-O1", NW_VARIANT, "", veclog::parallel_o1, nullptr, nullptr, nullptr},
    {"parallel-O2", NW_VARIANT, "", veclog::parallel_o2, nullptr, nullptr, nullptr},
    {"parallel-O3", NW_VARIANT, "", veclog::parallel_o3, nullptr, nullptr, nullptr},
    {"simd", NW_VARIANT, "simd", veclog::simd, nullptr, nullptr, nullptr},
#if defined(__x86_64__)
    {"libmvec-avx2", NW_PEER, "avx2,fma", veclog::libmvec_avx2, nullptr, nullptr, nullptr},
    {"libmvec-avx512", NW_PEER, "avx512f", veclog::libmvec_avx512, nullptr, nullptr, nullptr},
    {"svml", NW_PEER, "avx512f", veclog::by_vector_function, veclog::svml_prepare, nullptr, "svml"},
    {"svml-ha", NW_PEER, "avx512f", veclog::by_vector_function, veclog::svml_ha_prepare, nullptr, "svml"},
    {"sleef-u10", NW_PEER, "avx512f", veclog::by_vector_function, veclog::sleef_u10_prepare, nullptr, "sleef"},
    {"sleef-u35", NW_PEER, "avx512f", veclog::by_vector_function, veclog::sleef_u35_prepare, nullptr, "sleef"},
#endif
};

constexpr nw_study kStudy{
    NW_ABI,        "veclog",     veclog::layout, veclog::fill, nullptr,
    veclog::check, veclog::work, nullptr,        kVariants,    sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
