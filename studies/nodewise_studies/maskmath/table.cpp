// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {"branch", NW_VARIANT, "", maskmath::branch, nullptr, nullptr, nullptr},
    {"blend", NW_VARIANT, "simd", maskmath::blend, nullptr, nullptr, nullptr},
    {"native", NW_VARIANT, "simd", maskmath::native, nullptr, nullptr, nullptr},
    {"compress", NW_VARIANT, "simd", maskmath::compress, nullptr, nullptr, nullptr},
    {"best", NW_VARIANT, "simd", maskmath::best, nullptr, nullptr, nullptr},
    {"move", NW_LIMIT, "simd", maskmath::move, nullptr, nullptr, nullptr},
#if defined(__x86_64__)
    {"svml", NW_PEER, "avx512f,avx512bw,avx512vl", maskmath::by_vector_function, maskmath::svml_prepare, nullptr,
     "svml"},
    {"svml-ha", NW_PEER, "avx512f,avx512bw,avx512vl", maskmath::by_vector_function, maskmath::svml_ha_prepare, nullptr,
     "svml"},
    {"sleef-u10", NW_PEER, "avx512f,avx512bw,avx512vl", maskmath::by_vector_function, maskmath::sleef_u10_prepare,
     nullptr, "sleef"},
    {"sleef-u35", NW_PEER, "avx512f,avx512bw,avx512vl", maskmath::by_vector_function, maskmath::sleef_u35_prepare,
     nullptr, "sleef"},
    {"libmvec", NW_PEER, "avx512f,avx512bw,avx512vl", maskmath::by_vector_function, maskmath::libmvec_prepare, nullptr,
     nullptr},
#endif
};

constexpr nw_study kStudy{
    NW_ABI,          "maskmath",     maskmath::layout,  maskmath::fill, nullptr,
    maskmath::check, maskmath::work, maskmath::release, kVariants,      sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
