// SPDX-License-Identifier: BSD-3-Clause
// Inverse hyperbolic cosine of doubles, at most 0.9 ulp off, for the instruction set that Highway compiles for. Below 1
// it is NaN, of infinity infinity.
#if defined(NODEWISE_SIMD_MATH_ACOSH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NODEWISE_SIMD_MATH_ACOSH_INL_H_
#undef NODEWISE_SIMD_MATH_ACOSH_INL_H_
#else
#define NODEWISE_SIMD_MATH_ACOSH_INL_H_
#endif

#include "hwy/highway.h"
#include "simd_math/exact-inl.h"
#include "simd_math/log-inl.h"

HWY_BEFORE_NAMESPACE();
namespace simd_math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// acosh x = log(x + sqrt(x^2 - 1)), the sum as two doubles, since near 1 all that counts is in the second. From 2^28 on
// it is log(2 x), and x^2 is not taken.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V acosh_lanes(D d, V x) {
    const V one = hn::Set(d, 1.0);
    const V bound = hn::Set(d, 0x1p28);
    const auto large = hn::Gt(x, bound);
    // less than 0 is no better than 0, and cannot overflow
    const V inside = hn::IfThenElse(large, bound, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x));
    // x^2 - 1 = (x - 1) (x + 1). The factors are sums, not x^2 - 1 itself: a compiler that contracts a product and a
    // sum would round otherwise than what is lost says
    const V below = hn::Sub(inside, one);
    const V above = hn::Add(inside, one);
    const V above_rest = hn::Sub(one, hn::Sub(above, inside));
    const V less = hn::Mul(below, above);
    const V less_rest = hn::MulAdd(below, above_rest, product_error(d, below, above, less));
    const V root = hn::Sqrt(less);
    // one step of Newton's gives what the root lacks; at x = 1 that is 0
    const V missing = hn::Sub(less_rest, product_error(d, root, root, less));
    const V twice = hn::Max(hn::Add(root, root), hn::Set(d, 0x1p-100));
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    const V root_rest = hn::Mul(missing, V{_mm512_rcp14_pd(twice.raw)});
#else
    const V root_rest = hn::Div(missing, twice);
#endif
    const V sum = hn::Add(inside, root);
    const V rest = hn::Add(hn::Sub(root, hn::Sub(sum, inside)), root_rest);
    return log_of_sum<true, true>(d, hn::IfThenElse(large, x, sum), hn::IfThenZeroElse(large, rest),
                                  hn::IfThenElseZero(large, one));
}

}  // namespace HWY_NAMESPACE
}  // namespace simd_math
HWY_AFTER_NAMESPACE();

#endif  // NODEWISE_SIMD_MATH_ACOSH_INL_H_
