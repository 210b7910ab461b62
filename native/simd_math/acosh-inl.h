// SPDX-License-Identifier: BSD-3-Clause
// Inverse hyperbolic cosine for the instruction set that Highway compiles for.
//
// acosh_in_place(d, x, count): arcosh of each of `count` aligned numbers, which are whole vectors; with `false` as its
// first parameter quicker, and up to 1.5 ulp off.
//   Lane types: double
//   Max error: 0.9 ulp
//   Valid range: all; below 1 NaN, of infinity infinity
#if defined(NODEWISE_SIMD_MATH_ACOSH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NODEWISE_SIMD_MATH_ACOSH_INL_H_
#undef NODEWISE_SIMD_MATH_ACOSH_INL_H_
#else
#define NODEWISE_SIMD_MATH_ACOSH_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "simd_math/exact-inl.h"
#include "simd_math/log-inl.h"

HWY_BEFORE_NAMESPACE();
namespace simd_math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// acosh x = log(high + low) + more ln 2.
template <class V>
struct AcoshSum {
    V high;
    V low;
    V more;
};

// acosh x = log(x + sqrt(x^2 - 1)), the sum as two doubles, since near 1 all that counts is in the second. From 2^28 on
// it is log(2 x), and x^2 is not taken.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

template <class D, class V = hn::Vec<D>>
HWY_INLINE AcoshSum<V> acosh_sum(D d, V x) {
    constexpr int kQuietly = _MM_FROUND_NO_EXC;
    const V one = hn::Set(d, 1.0);
    const V bound = hn::Set(d, 0x1p28);
    const __mmask8 large = _mm512_cmp_pd_mask(x.raw, bound.raw, _CMP_GT_OQ);
    // large ones are 1 until the end, since infinity's own is exact and raises nothing; a NaN passes both
    const __m512d above = _mm512_max_round_pd(one.raw, x.raw, kQuietly);
    const V inside{_mm512_mask_mov_pd(above, large, one.raw)};
    // with its rounding given, or a compiler would contract it and the difference
    const V square{_mm512_mul_round_pd(inside.raw, inside.raw, _MM_FROUND_TO_NEAREST_INT | kQuietly)};
    const V square_rest = hn::MulSub(inside, inside, square);
    const V less = hn::Sub(square, one);
    const V less_rest = hn::Add(hn::Sub(hn::Sub(square, less), one), square_rest);
    // 1 / sqrt(less) to 14 bits, to 41 by a step of third order, and the root to all; of 0 only that it is finite
    // counts
    const V guess{_mm512_rsqrt14_pd(hn::Add(less, hn::Set(d, 0x1p-200)).raw)};
    const V rough = hn::Mul(less, guess);
    const V off = hn::NegMulAdd(rough, guess, one);
    const V step = hn::Mul(off, hn::MulAdd(off, hn::Set(d, 0.375), hn::Set(d, 0.5)));
    const V root = hn::MulAdd(rough, step, rough);
    const V inverse = hn::MulAdd(guess, step, guess);
    const V missing = hn::Add(hn::NegMulAdd(root, root, less), less_rest);
    const V sum = hn::Add(inside, root);
    const V lost = hn::Sub(root, hn::Sub(sum, inside));
    const V rest = hn::MulAdd(hn::Mul(missing, inverse), hn::Set(d, 0.5), lost);
    // the root had 41 bits, so the rest may be more than a rounding error of the sum: now it is that again
    const V whole = hn::Add(sum, rest);
    const V low = hn::Sub(rest, hn::Sub(whole, sum));
    // below 1 as of a negative number
    const __mmask8 none = _mm512_cmp_pd_mask(x.raw, one.raw, _CMP_LT_OQ);
    const __m512d high = _mm512_mask_mov_pd(_mm512_mask_mov_pd(whole.raw, large, x.raw), none, _mm512_set1_pd(-1.0));
    return {V{high}, V{_mm512_maskz_mov_pd(_knot_mask8(large), low.raw)}, V{_mm512_maskz_mov_pd(large, one.raw)}};
}

#else

template <class D, class V = hn::Vec<D>>
HWY_INLINE AcoshSum<V> acosh_sum(D d, V x) {
    const V one = hn::Set(d, 1.0);
    const V bound = hn::Set(d, 0x1p28);
    // a NaN, of which with SSE any comparison is an invalid operation, is 1 until the end
    const auto is_number = hn::Eq(x, x);
    const V number = hn::IfThenElse(is_number, x, one);
    const auto large = hn::Gt(number, bound);
    // large ones are 1 until the end, too, since infinity's own is exact and raises nothing; less than 0 is no better
    // than 0, and cannot overflow
    const V inside = hn::IfThenElse(large, one, hn::IfThenZeroElse(hn::Lt(number, hn::Zero(d)), number));
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
    const V sum = hn::Add(inside, root);
    const V rest = hn::Add(hn::Sub(root, hn::Sub(sum, inside)), hn::Div(missing, twice));
    return {hn::IfThenElse(hn::AndNot(large, is_number), sum, x), hn::IfThenZeroElse(large, rest),
            hn::IfThenElseZero(large, one)};
}

#endif

// acosh of `count` aligned arguments, which are whole vectors, in place. In two passes over some vectors each: the
// chain of one vector's operations is so long that a processor looks too few vectors ahead to fill the time.
template <bool kFine = true, class D, class V = hn::Vec<D>>
HWY_INLINE void acosh_in_place(D d, double* x, std::size_t count) {
    constexpr std::size_t kMost = HWY_MAX_BYTES / sizeof(double) < 64 ? 64 : HWY_MAX_BYTES / sizeof(double);
    HWY_ALIGN double low[kMost];
    HWY_ALIGN double more[kMost];
    const std::size_t lanes = hn::Lanes(d);
    for (std::size_t begin = 0; begin < count; begin += kMost) {
        double* part = x + begin;
        const std::size_t end = count - begin < kMost ? count - begin : kMost;
        for (std::size_t i = 0; i < end; i += lanes) {
            const AcoshSum<V> sum = acosh_sum(d, hn::Load(d, part + i));
            hn::Store(sum.high, d, part + i);
            hn::Store(sum.low, d, low + i);
            hn::Store(sum.more, d, more + i);
        }
        for (std::size_t i = 0; i < end; i += lanes) {
            const V y = log_of_sum<true, kFine>(d, hn::Load(d, part + i), hn::Load(d, low + i), hn::Load(d, more + i));
            hn::Store(y, d, part + i);
        }
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace simd_math
HWY_AFTER_NAMESPACE();

#endif  // NODEWISE_SIMD_MATH_ACOSH_INL_H_
