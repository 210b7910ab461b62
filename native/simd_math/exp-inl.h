// SPDX-License-Identifier: BSD-3-Clause
// Exponential for the instruction set that Highway compiles for.
//
// exp_lanes(d, x): e^x.
//   Lane types: double
//   Max error: 0.8 ulp
//   Valid range: all; it overflows to infinity, and goes down to subnormal numbers and 0 gradually
#if defined(NODEWISE_SIMD_MATH_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NODEWISE_SIMD_MATH_EXP_INL_H_
#undef NODEWISE_SIMD_MATH_EXP_INL_H_
#else
#define NODEWISE_SIMD_MATH_EXP_INL_H_
#endif

#include <cstdint>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace simd_math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// ln 2 in two parts; the first has so few bits that its product with a power is exact.
constexpr double kExpLn2High = 0x1.62e42fefa0000p-1;
constexpr double kExpLn2Low = 0x1.cf79abc9e3b3ap-40;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

// 2^(j/16), and by what part of itself each is too small.
alignas(64) constexpr double kExpPower[16] = {
    0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
    0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
    0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
    0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};
alignas(64) constexpr double kExpRest[16] = {0.0,
                                             0x1.79aa65d837b6cp-54,
                                             -0x1.01b15eaa59348p-55,
                                             0x1.68efde3a8a893p-54,
                                             0x1.34d754db0abb6p-55,
                                             0x1.59f48a72a4c6cp-55,
                                             0x1.690cebb7aafb0p-56,
                                             0x1.063e1e21c5409p-54,
                                             -0x1.3b3efbf5e2229p-54,
                                             -0x1.b32dcb94da51dp-56,
                                             0x1.db72fc1f0eab4p-55,
                                             0x1.1affc2b91ce27p-56,
                                             0x1.c1a7792cb3386p-55,
                                             0x1.36eae30af0cb3p-56,
                                             0x1.4a385a63d07a7p-56,
                                             -0x1.ff7128fd391f1p-55};

// x = (n + j/16) ln 2 + r: exp x = 2^n 2^(j/16) exp r. The processor's scaling rounds once, also to subnormal numbers.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_lanes(D d, V x) {
    // beyond these the result is infinite or 0 anyway; a NaN passes both. An infinity is 0 until the end, since its own
    // exponential is exact and raises nothing
    constexpr int kQuietly = _MM_FROUND_NO_EXC;
    const __m512d below = _mm512_max_round_pd(_mm512_set1_pd(-800.0), x.raw, kQuietly);
    const __m512d most = _mm512_min_round_pd(_mm512_set1_pd(800.0), below, kQuietly);
    // by the argument's kind, four bits for each: -infinity is the fifth, infinity the sixth. 0: as it is; 5: infinity;
    // 8: 0
    const __m512d inside = _mm512_fixupimm_pd(most, x.raw, _mm512_set1_epi64(0x00880000), 0);
    // rounds to sixteenths, which leaves j in the lowest bits
    const V magic = hn::Set(d, 0x1.8p48);
    const V moved = hn::MulAdd(V{inside}, hn::Set(d, 0x1.71547652b82fep+0), magic);
    const __m512i index = _mm512_castpd_si512(moved.raw);
    const V power = hn::Sub(moved, magic);
    V r = hn::NegMulAdd(power, hn::Set(d, kExpLn2High), V{inside});
    r = hn::NegMulAdd(power, hn::Set(d, kExpLn2Low), r);
    const auto look_up = [&](const double* table) HWY_ATTR {
        return V{_mm512_permutex2var_pd(_mm512_load_pd(table), index, _mm512_load_pd(table + 8))};
    };
    const V scale = look_up(kExpPower);
    // (exp(r) - 1 - r) / r^2, its error less than 2^-56 / r^2; by pairs, since a chain would be waited for
    const V r2 = hn::Mul(r, r);
    const V q01 = hn::MulAdd(r, hn::Set(d, 0x1.555555548ebbfp-3), hn::Set(d, 0x1.0000000000005p-1));
    const V q23 = hn::MulAdd(r, hn::Set(d, 0x1.11123b48396dfp-7), hn::Set(d, 0x1.555555545dbe3p-5));
    const V q = hn::MulAdd(r2, hn::MulAdd(r2, hn::Set(d, 0x1.6c185ec1edd9ep-10), q23), q01);
    const V more = hn::MulAdd(r2, q, hn::Add(r, look_up(kExpRest)));
    const V y = hn::MulAdd(scale, more, scale);
    return V{_mm512_fixupimm_pd(_mm512_scalef_pd(y.raw, power.raw), x.raw, _mm512_set1_epi64(0x00580000), 0)};
}

#else

// x = n ln 2 + r, |r| <= ln 2 / 2: exp x = 2^n exp r, by two powers of which neither leaves the range.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_lanes(D d, V x) {
    const hn::RebindToUnsigned<D> du;
    // beyond these the result is infinite or 0 anyway. What has all bits of the exponent is put back at the end: a NaN,
    // of which the larger is an invalid operation, and an infinity, whose own exponential is exact and raises nothing
    const V infinity = hn::Set(d, std::numeric_limits<double>::infinity());
    const auto finite = hn::Ne(hn::And(x, infinity), infinity);
    const V inside = hn::Min(hn::Set(d, 800.0), hn::Max(hn::Set(d, -800.0), hn::IfThenElseZero(finite, x)));
    const V magic = hn::Set(d, 0x1.8p52);
    const V moved = hn::MulAdd(inside, hn::Set(d, 0x1.71547652b82fep+0), magic);
    const V power = hn::Sub(moved, magic);
    const V high = hn::NegMulAdd(power, hn::Set(d, kExpLn2High), inside);
    const V low = hn::Mul(power, hn::Set(d, kExpLn2Low));
    const V r = hn::Sub(high, low);
    const V lost = hn::Sub(hn::Sub(high, r), low);
    V q = hn::Set(d, 0x1.af75e7c2940eep-26);
    q = hn::MulAdd(q, r, hn::Set(d, 0x1.28a1e0bc40736p-22));
    q = hn::MulAdd(q, r, hn::Set(d, 0x1.71ddea955ec5ap-19));
    q = hn::MulAdd(q, r, hn::Set(d, 0x1.a019a781149dfp-16));
    q = hn::MulAdd(q, r, hn::Set(d, 0x1.a01a01b58d415p-13));
    q = hn::MulAdd(q, r, hn::Set(d, 0x1.6c16c17ecd40dp-10));
    q = hn::MulAdd(q, r, hn::Set(d, 0x1.111111110e7d6p-7));
    q = hn::MulAdd(q, r, hn::Set(d, 0x1.5555555552322p-5));
    q = hn::MulAdd(q, r, hn::Set(d, 0x1.555555555555cp-3));
    q = hn::MulAdd(q, r, hn::Set(d, 0x1.0000000000005p-1));
    // 1 + r, of which what the addition lost goes to the rest
    const V one = hn::Set(d, 1.0);
    const V sum = hn::Add(one, r);
    const V rest = hn::Add(hn::Add(hn::Sub(r, hn::Sub(sum, one)), lost), hn::Mul(hn::Mul(r, r), q));
    const V y = hn::Add(sum, rest);
    // 2^(n/2) twice over, from the bits: moved's lowest hold n as two's complement
    const auto biased = hn::Add(hn::BitCast(du, moved), hn::Set(du, 2 * 1023));
    const auto half = hn::ShiftRight<1>(hn::And(biased, hn::Set(du, 0xfff)));
    const auto other = hn::Sub(hn::And(biased, hn::Set(du, 0xfff)), half);
    const V first = hn::BitCast(d, hn::ShiftLeft<52>(half));
    const V second = hn::BitCast(d, hn::ShiftLeft<52>(other));
    const V others = hn::IfThenZeroElse(hn::Eq(x, hn::Neg(infinity)), x);
    return hn::IfThenElse(finite, hn::Mul(hn::Mul(y, first), second), others);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace simd_math
HWY_AFTER_NAMESPACE();

#endif  // NODEWISE_SIMD_MATH_EXP_INL_H_
