// SPDX-License-Identifier: BSD-3-Clause
// Square root without the processor's own, which some divide for, for the instruction set that Highway compiles for.
//
// sqrt_lanes_by_steps(d, x): the square root of x, by a step of third order and one of Newton's; the processor's own
// where there is no AVX-512, and for a vector in which a lane is no number from 2^-1000 to 2^1000.
//   Lane types: double
//   Max error: 0.51 ulp
//   Valid range: all; the steps may raise inexact where the root is exact
#if defined(NODEWISE_SIMD_MATH_SQRT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NODEWISE_SIMD_MATH_SQRT_INL_H_
#undef NODEWISE_SIMD_MATH_SQRT_INL_H_
#else
#define NODEWISE_SIMD_MATH_SQRT_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace simd_math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sqrt_lanes_by_steps(D d, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    const __mmask8 low = _mm512_cmp_pd_mask(x.raw, _mm512_set1_pd(0x1p-1000), _CMP_GE_OQ);
    const __mmask8 inside = _mm512_mask_cmp_pd_mask(low, x.raw, _mm512_set1_pd(0x1p1000), _CMP_LE_OQ);
    if (HWY_UNLIKELY(inside != 0xff)) {
        return hn::Sqrt(x);
    }
    // 1 / sqrt x to 14 bits, to 41 by a step of third order; and the root to all, by what its square lacks, exactly
    const V guess{_mm512_rsqrt14_pd(x.raw)};
    const V rough = hn::Mul(x, guess);
    const V off = hn::NegMulAdd(rough, guess, hn::Set(d, 1.0));
    const V step = hn::Mul(off, hn::MulAdd(off, hn::Set(d, 0.375), hn::Set(d, 0.5)));
    const V root = hn::MulAdd(rough, step, rough);
    const V half = hn::Mul(hn::MulAdd(guess, step, guess), hn::Set(d, 0.5));
    return hn::MulAdd(hn::NegMulAdd(root, root, x), half, root);
#else
    (void)d;
    return hn::Sqrt(x);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace simd_math
HWY_AFTER_NAMESPACE();

#endif  // NODEWISE_SIMD_MATH_SQRT_INL_H_
