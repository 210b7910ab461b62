// SPDX-License-Identifier: BSD-3-Clause
// What rounding took away, for the instruction set that Highway compiles for.
//
// product_error(d, a, b, product): a b - product, `product` being the rounded one.
//   Lane types: double
//   Max error: 0 ulp
//   Valid range: |a| and |b| below 2^996, and a product whose rounding error is no subnormal number
#if defined(NODEWISE_SIMD_MATH_EXACT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NODEWISE_SIMD_MATH_EXACT_INL_H_
#undef NODEWISE_SIMD_MATH_EXACT_INL_H_
#else
#define NODEWISE_SIMD_MATH_EXACT_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace simd_math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V = hn::Vec<D>>
HWY_INLINE V product_error(D d, V a, V b, V product) {
#if HWY_NATIVE_FMA
    (void)d;
    return hn::MulSub(a, b, product);
#else
    // halves of 26 bits, whose products are exact
    const auto half = [&](V v) HWY_ATTR {
        const V scaled = hn::Mul(v, hn::Set(d, 0x1p27 + 1));
        return hn::Sub(scaled, hn::Sub(scaled, v));
    };
    const V a1 = half(a);
    const V b1 = half(b);
    const V a2 = hn::Sub(a, a1);
    const V b2 = hn::Sub(b, b1);
    const V crossed = hn::Add(hn::Mul(a1, b2), hn::Mul(a2, b1));
    return hn::Add(hn::Add(hn::Sub(hn::Mul(a1, b1), product), crossed), hn::Mul(a2, b2));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace simd_math
HWY_AFTER_NAMESPACE();

#endif  // NODEWISE_SIMD_MATH_EXACT_INL_H_
