// SPDX-License-Identifier: BSD-3-Clause
// Natural logarithm for the instruction set that Highway compiles for.
//
// log_lanes(d, x): ln x. By AVX-512 inexact may be raised beside the other exceptions.
//   Lane types: double
//   Max error: 0.9 ulp
//   Valid range: all; of 0 minus infinity, of negative numbers NaN
//
// log_lanes_quick(d, x): ln x, quicker; a logarithm of 0 may raise no flag.
//   Lane types: double
//   Max error: 1 ulp
//   Valid range: all; of 0 minus infinity, of negative numbers NaN
#if defined(NODEWISE_SIMD_MATH_LOG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NODEWISE_SIMD_MATH_LOG_INL_H_
#undef NODEWISE_SIMD_MATH_LOG_INL_H_
#else
#define NODEWISE_SIMD_MATH_LOG_INL_H_
#endif

#include <cstdint>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace simd_math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// ln 2 in two parts; the first has so few bits that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42fefa3800p-1;
constexpr double kLn2Low = 0x1.ef35793c76730p-45;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

// x = 2^e m with m in [1, 2), whose top 4 bits choose r ≈ 1/m, so short that z = m r - 1, in [-1/32, 1/16], is exact
// but for a bit at most: log x = e ln 2 - log r + log(1 + z). The first r is 1 and the last 1/2, so that nothing
// cancels near x = 1. -log r is in two parts as ln 2 is.
alignas(64) constexpr double kLogReciprocal[16] = {64.0 / 64, 469.0 / 512, 56.0 / 64, 53.0 / 64, 50.0 / 64, 48.0 / 64,
                                                   46.0 / 64, 44.0 / 64,   42.0 / 64, 40.0 / 64, 39.0 / 64, 37.0 / 64,
                                                   36.0 / 64, 35.0 / 64,   34.0 / 64, 32.0 / 64};
alignas(64) constexpr double kLogHigh[16] = {0.0,
                                             0x1.674f089364000p-4,
                                             0x1.1178e8227e000p-3,
                                             0x1.823c16551a000p-3,
                                             0x1.f991c6cb3c000p-3,
                                             0x1.269621134e000p-2,
                                             0x1.522ae0738a000p-2,
                                             0x1.7fafa3bd81000p-2,
                                             0x1.af5295248d000p-2,
                                             0x1.e148a1a272000p-2,
                                             0x1.fb358af7a5000p-2,
                                             0x1.188ee40f24000p-1,
                                             0x1.269621134d800p-1,
                                             0x1.35028ad9d9000p-1,
                                             0x1.43d9ff2f92000p-1,
                                             kLn2High};
alignas(64) constexpr double kLogLow[16] = {0.0,
                                            0x1.a79994c9d3302p-44,
                                            0x1.1ef78ce2d07f2p-45,
                                            0x1.e0ddb9a631e83p-46,
                                            -0x1.90d04cd7cc834p-44,
                                            -0x1.1b61f10522625p-44,
                                            0x1.ebe708164c759p-45,
                                            0x1.46fb79bf6d4cbp-44,
                                            -0x1.17cc552774458p-45,
                                            0x1.b36537e3375b2p-44,
                                            -0x1.def40b87d36d9p-44,
                                            -0x1.accec41d52e6cp-44,
                                            0x1.c93c1df5bb3b6p-44,
                                            -0x1.bd1f01ab60655p-44,
                                            0x1.e267b0b7efae1p-44,
                                            kLn2Low};

// The log of high + low; without kHasLow, of high alone. `more` is added to the exponent. kFine: at most 0.9 ulp off,
// and a logarithm of 0 says that it divided by it; else 1 ulp, and quicker.
template <bool kHasLow, bool kFine, class D, class V = hn::Vec<D>>
HWY_INLINE V log_of_sum(D d, V high, V low, V more) {
    const __m512d x = high.raw;
    V e{_mm512_getexp_pd(x)};
    const __m512d m = _mm512_getmant_pd(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan);
    const __m512i index = _mm512_srli_epi64(_mm512_castpd_si512(m), 48);
    const auto look_up = [&](const double* table) HWY_ATTR {
        return V{_mm512_permutex2var_pd(_mm512_load_pd(table), index, _mm512_load_pd(table + 8))};
    };
    const V r = look_up(kLogReciprocal);
    const V z = hn::MulSub(V{m}, r, hn::Set(d, 1.0));
    V rest = look_up(kLogLow);
    if constexpr (kHasLow) {
        // log(1 + z + low) = log(1 + z) + low / (1 + z)
        const V small = hn::Mul(V{_mm512_scalef_pd(low.raw, hn::Neg(e).raw)}, r);
        rest = hn::Add(rest, hn::NegMulAdd(small, z, small));
        e = hn::Add(e, more);
    }
    const V table = hn::MulAdd(e, hn::Set(d, kLn2High), look_up(kLogHigh));
    rest = hn::MulAdd(e, hn::Set(d, kLn2Low), rest);
    // (log(1 + z) - z) / z^2, its error less than 2^-56 / z; by pairs, since a chain would be waited for
    const V z2 = hn::Mul(z, z);
    const V z4 = hn::Mul(z2, z2);
    const auto pair = [&](double constant, double linear)
                          HWY_ATTR { return hn::MulAdd(z, hn::Set(d, linear), hn::Set(d, constant)); };
    const V q01 = pair(-0.5, 0x1.5555555555e6ap-2);
    const V q23 = pair(-0x1.fffffffffbc4fp-3, 0x1.999999823aeffp-3);
    const V q45 = pair(-0x1.5555548baf8c4p-3, 0x1.2492d11bff513p-3);
    const V q67 = pair(-0x1.0009cfe47079bp-3, 0x1.c58a61be7210ep-4);
    const V q678 = hn::MulAdd(z2, hn::Set(d, -0x1.66a99390cd98dp-4), q67);
    const V q = hn::MulAdd(z4, hn::MulAdd(z2, q678, q45), hn::MulAdd(z2, q23, q01));
    rest = hn::MulAdd(z2, q, rest);
    if constexpr (!kFine) {
        return hn::Add(table, hn::Add(z, rest));
    }
    // table + z, and what that addition loses; infinity less infinity raises no flag, and is put right at the end
    const V sum = hn::Add(table, z);
    const V taken{_mm512_sub_round_pd(sum.raw, table.raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
    const V y = hn::Add(sum, hn::Add(hn::Sub(z, taken), rest));
    // by the argument's kind, four bits for each from the lowest: NaN (twice), 0, 1, -infinity, infinity, < 0, > 0.
    // 0: as it is; 2: the NaN, quiet; 3: NaN; 4: -infinity; 5: infinity. 0x71: 0 divides by zero, NaN is invalid
    const __m512i response = _mm512_set1_epi64(0x03530422);
    return V{_mm512_fixupimm_pd(y.raw, x, response, 0x71)};
}

#else

// The logarithm of positive normal numbers: x = 2^e m with m in [sqrt 1/2, sqrt 2), f = m - 1, s = f / (2 + f):
// log m = f - f^2/2 + s (f^2/2 + R(s^2)). `more` is added to the exponent, `rest` to the result.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_of_normal(D d, V x, V more, V rest) {
    const hn::RebindToUnsigned<D> du;
    const V one = hn::Set(d, 1.0);
    // 512 more than the exponent, which stays positive and so needs no arithmetic shift; then as a double by its bits
    constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdULL;
    constexpr std::uint64_t kOne = 0x3ff0000000000000ULL;
    const auto bits = hn::BitCast(du, x);
    const auto from_root = hn::Add(bits, hn::Set(du, kOne - kRootHalf));
    const auto power = hn::ShiftRight<52>(from_root);
    const V m =
        hn::BitCast(d, hn::Add(hn::And(from_root, hn::Set(du, (std::uint64_t{1} << 52) - 1)), hn::Set(du, kRootHalf)));
    constexpr std::uint64_t kMagic = 0x4330000000000000ULL;  // 2^52
    const V biased = hn::BitCast(d, hn::Or(power, hn::Set(du, kMagic)));
    const V e = hn::Add(hn::Sub(biased, hn::Set(d, 0x1p52 + 1023)), more);
    const V f = hn::Sub(m, one);
    const V s = hn::Div(f, hn::Add(f, hn::Set(d, 2.0)));
    const V z = hn::Mul(s, s);
    V r = hn::Set(d, 0x1.2f05649aeba6bp-3);
    r = hn::MulAdd(r, z, hn::Set(d, 0x1.39a1ba949126ep-3));
    r = hn::MulAdd(r, z, hn::Set(d, 0x1.74663eea14f8cp-3));
    r = hn::MulAdd(r, z, hn::Set(d, 0x1.c71c52095397ap-3));
    r = hn::MulAdd(r, z, hn::Set(d, 0x1.24924941f131cp-2));
    r = hn::MulAdd(r, z, hn::Set(d, 0x1.999999997fdb7p-2));
    r = hn::Mul(z, hn::MulAdd(r, z, hn::Set(d, 0x1.5555555555592p-1)));
    const V half = hn::Mul(hn::Mul(hn::Set(d, 0.5), f), f);
    rest = hn::MulAdd(e, hn::Set(d, kLn2Low), rest);
    rest = hn::MulAdd(s, hn::Add(half, r), rest);
    const V log_m = hn::Sub(f, hn::Sub(half, rest));
    return hn::MulAdd(e, hn::Set(d, kLn2High), log_m);
}

// Of lanes among which not all are positive normal numbers. Each raises what is due to it and nothing else: of negative
// ones the result is 0 / 0, of 0 it is -1 / 0, and infinity and NaN are as they are.
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V log_of_any(D d, V x, V more, V low) {
    const V one = hn::Set(d, 1.0);
    const V zero = hn::Zero(d);
    // with SSE to ask whether a NaN is less is an invalid operation
    const V number = hn::IfThenElse(hn::Eq(x, x), x, one);
    const auto negative = hn::Lt(number, zero);
    const auto none = hn::Eq(number, zero);
    const auto infinite = hn::Gt(number, hn::Set(d, std::numeric_limits<double>::max()));
    const auto usual = hn::AndNot(hn::Or(hn::Or(negative, none), infinite), hn::Eq(x, x));
    const V positive = hn::IfThenElse(usual, x, one);
    const auto tiny = hn::Lt(positive, hn::Set(d, std::numeric_limits<double>::min()));
    // not the product first, which overflows where it is not taken
    const V lifted = hn::Mul(positive, hn::IfThenElse(tiny, hn::Set(d, 0x1p54), one));
    const V added = hn::IfThenElseZero(usual, more);
    const V exponent = hn::Sub(added, hn::IfThenElseZero(tiny, hn::Set(d, 54.0)));
    const V y = log_of_normal(d, lifted, exponent, hn::IfThenElseZero(usual, hn::Div(low, positive)));
    const V above = hn::IfThenZeroElse(negative, hn::IfThenElse(none, hn::Neg(one), x));
    const V others = hn::Div(above, hn::IfThenZeroElse(hn::Or(negative, none), one));
    return hn::IfThenElse(usual, y, others);
}

// The log of high + low; without kHasLow, of high alone. `more` is added to the exponent.
template <bool kHasLow, bool kFine, class D, class V = hn::Vec<D>>
HWY_INLINE V log_of_sum(D d, V high, V low, V more) {
    const hn::RebindToSigned<D> di;
    // positive and normal, by the bits, less the least of them, from the least integer on: no comparison of integers
    // raises anything
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t kFirst = std::int64_t{1} << 52, kInfinity = std::int64_t{0x7ff} << 52;
    const auto from_least =
        hn::Add(hn::BitCast(di, high), hn::Set(di, std::numeric_limits<std::int64_t>::max() - kFirst + 1));
    if (!hn::AllTrue(di, hn::Lt(from_least, hn::Set(di, kLeast + (kInfinity - kFirst))))) [[unlikely]] {
        return log_of_any(d, high, kHasLow ? more : hn::Zero(d), kHasLow ? low : hn::Zero(d));
    }
    // log(high + low) = log high + low / high, near enough, since low is a rounding error of high
    const V rest = kHasLow ? hn::Div(low, high) : hn::Zero(d);
    return log_of_normal(d, high, kHasLow ? more : hn::Zero(d), rest);
}

#endif

template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_lanes(D d, V x) {
    return log_of_sum<false, true>(d, x, x, x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_lanes_quick(D d, V x) {
    return log_of_sum<false, false>(d, x, x, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace simd_math
HWY_AFTER_NAMESPACE();

#endif  // NODEWISE_SIMD_MATH_LOG_INL_H_
