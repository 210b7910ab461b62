// SPDX-License-Identifier: BSD-3-Clause
// Sine and cosine for the instruction set that Highway compiles for.
//
// sin_lanes(d, x): sin x, x in radians.
//   Lane types: double
//   Max error: 0.9 ulp
//   Valid range: all; beyond a million, infinities and NaN go to the C library, lane by lane
//
// cos_lanes(d, x): cos x, x in radians.
//   Lane types: double
//   Max error: 0.9 ulp
//   Valid range: all; beyond a million, infinities and NaN go to the C library, lane by lane
//
// sin_lanes_quick(d, x): sin x, x in radians; as sin_lanes where there is no AVX-512.
//   Lane types: double
//   Max error: 4 ulp
//   Valid range: all; beyond a million, infinities and NaN go to the C library, lane by lane
//
// cos_lanes_quick(d, x): cos x, x in radians; as cos_lanes where there is no AVX-512.
//   Lane types: double
//   Max error: 4 ulp
//   Valid range: all; beyond a million, infinities and NaN go to the C library, lane by lane
#if defined(NODEWISE_SIMD_MATH_SINCOS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NODEWISE_SIMD_MATH_SINCOS_INL_H_
#undef NODEWISE_SIMD_MATH_SINCOS_INL_H_
#else
#define NODEWISE_SIMD_MATH_SINCOS_INL_H_
#endif

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "simd_math/exact-inl.h"

HWY_BEFORE_NAMESPACE();
namespace simd_math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The bits of the number after a million, the largest that is reduced here.
constexpr std::int64_t kLeastNotReduced = std::bit_cast<std::int64_t>(1e6) + 1;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

// sin and cos of k pi/16, and what the sines are too small by.
alignas(64) constexpr double kSines[16] = {0.0,
                                           0x1.8f8b83c69a60bp-3,
                                           0x1.87de2a6aea963p-2,
                                           0x1.1c73b39ae68c8p-1,
                                           0x1.6a09e667f3bcdp-1,
                                           0x1.a9b66290ea1a3p-1,
                                           0x1.d906bcf328d46p-1,
                                           0x1.f6297cff75cb0p-1,
                                           0x1.0000000000000p+0,
                                           0x1.f6297cff75cb0p-1,
                                           0x1.d906bcf328d46p-1,
                                           0x1.a9b66290ea1a3p-1,
                                           0x1.6a09e667f3bcdp-1,
                                           0x1.1c73b39ae68c8p-1,
                                           0x1.87de2a6aea963p-2,
                                           0x1.8f8b83c69a60bp-3};
alignas(64) constexpr double kSineRest[16] = {0.0,
                                              -0x1.26d19b9ff8d82p-57,
                                              -0x1.72cedd3d5a610p-57,
                                              0x1.b25dd267f6600p-55,
                                              -0x1.bdd3413b26456p-55,
                                              0x1.9f630e8b6dac8p-60,
                                              0x1.457e610231ac2p-56,
                                              0x1.562172a361fd3p-56,
                                              0.0,
                                              0x1.562172a361fd3p-56,
                                              0x1.457e610231ac2p-56,
                                              0x1.9f630e8b6dac8p-60,
                                              -0x1.bdd3413b26456p-55,
                                              0x1.b25dd267f6600p-55,
                                              -0x1.72cedd3d5a610p-57,
                                              -0x1.26d19b9ff8d82p-57};
alignas(64) constexpr double kCosines[16] = {0x1.0000000000000p+0,  0x1.f6297cff75cb0p-1,  0x1.d906bcf328d46p-1,
                                             0x1.a9b66290ea1a3p-1,  0x1.6a09e667f3bcdp-1,  0x1.1c73b39ae68c8p-1,
                                             0x1.87de2a6aea963p-2,  0x1.8f8b83c69a60bp-3,  0.0,
                                             -0x1.8f8b83c69a60bp-3, -0x1.87de2a6aea963p-2, -0x1.1c73b39ae68c8p-1,
                                             -0x1.6a09e667f3bcdp-1, -0x1.a9b66290ea1a3p-1, -0x1.d906bcf328d46p-1,
                                             -0x1.f6297cff75cb0p-1};

// |x| = n pi/16 + r: sin |x| = S + C r + (S (cos r - 1) + C (sin r - r)), S = sin(n pi/16), C = cos(n pi/16). For the
// cosine n is 8 more. kFine: at most 0.9 ulp off, by what roundings lost; else 4 ulp.
template <bool kIsCosine, bool kFine, class D, class V = hn::Vec<D>>
HWY_INLINE V reduced_sin_or_cos(D d, V x) {
    const V size = hn::Abs(x);
    // leaves n in the lowest bits
    const V magic = hn::Set(d, 0x1.8p52 + (kIsCosine ? 8 : 0));
    const V moved = hn::MulAdd(size, hn::Set(d, 0x1.45f306dc9c883p+2), magic);
    const __m512i n = _mm512_castpd_si512(moved.raw);
    const V times = hn::Sub(moved, magic);
    // pi/16 in three parts: the first product cancels exactly, the second is exact, having 30 bits and those of n
    const V first = hn::NegMulAdd(times, hn::Set(d, 0x1.921fb54442d18p-3), size);
    const V second = hn::Set(d, 0x1.1a62633000000p-57);
    const V third = hn::Set(d, 0x1.45c06e0e68948p-89);
    V r = hn::NegMulAdd(times, second, first);
    V lost = hn::Zero(d);
    if constexpr (kFine) {
        lost = hn::NegMulAdd(times, third, hn::NegMulAdd(times, second, hn::Sub(first, r)));
    } else {
        r = hn::NegMulAdd(times, third, r);
    }
    const auto look_up = [&](const double* table) HWY_ATTR {
        return V{_mm512_permutex2var_pd(_mm512_load_pd(table), n, _mm512_load_pd(table + 8))};
    };
    const V s = look_up(kSines);
    const V c = look_up(kCosines);
    const V r2 = hn::Mul(r, r);
    // (sin r - r) / r^3 and (cos r - 1) / r^2
    V p = hn::Set(d, 0x1.71c99acb1dd4bp-19);
    p = hn::MulAdd(p, r2, hn::Set(d, -0x1.a01a00f1ac773p-13));
    p = hn::MulAdd(p, r2, hn::Set(d, 0x1.111111110ecbap-7));
    p = hn::MulAdd(p, r2, hn::Set(d, -0x1.5555555555555p-3));
    V q = hn::Set(d, 0x1.9ffda664fa76fp-16);
    q = hn::MulAdd(q, r2, hn::Set(d, -0x1.6c16c07c41b28p-10));
    q = hn::MulAdd(q, r2, hn::Set(d, 0x1.555555554f167p-5));
    q = hn::MulAdd(q, r2, hn::Set(d, -0x1.ffffffffffffdp-2));
    V y;
    if constexpr (kFine) {
        const V sine_rest = hn::MulAdd(hn::Mul(r2, r), p, lost);
        const V sum = hn::MulAdd(c, r, s);
        V rest = hn::MulAdd(c, r, hn::Sub(s, sum));
        rest = hn::Add(rest, hn::MulAdd(c, sine_rest, hn::MulAdd(s, hn::Mul(r2, q), look_up(kSineRest))));
        y = hn::Add(sum, rest);
    } else {
        y = hn::MulAdd(c, hn::MulAdd(hn::Mul(r2, r), p, r), hn::MulAdd(s, hn::Mul(r2, q), s));
    }
    // odd multiples of pi change the sign, and so does x in the sine
    const __m512i sign = _mm512_castpd_si512(_mm512_set1_pd(-0.0));
    const __m512i odd = _mm512_slli_epi64(n, 59);
    const __m512i flip = kIsCosine ? odd : _mm512_xor_si512(odd, _mm512_castpd_si512(x.raw));
    y = V{_mm512_castsi512_pd(_mm512_ternarylogic_epi64(_mm512_castpd_si512(y.raw), flip, sign, 0x78))};
    return y;
}

#else

// |x| = n pi/2 + r + lost, |r| <= pi/4: the sine or the cosine of r, by the quarter; always fine.
template <bool kIsCosine, bool kFine, class D, class V = hn::Vec<D>>
HWY_INLINE V reduced_sin_or_cos(D d, V x) {
    const hn::RebindToUnsigned<D> du;
    const V size = hn::Abs(x);
    const V magic = hn::Set(d, 0x1.8p52);
    const V moved = hn::MulAdd(size, hn::Set(d, 0x1.45f306dc9c883p-1), magic);
    const V times = hn::Sub(moved, magic);
    // pi/2 in parts of 33 bits, whose products are exact, and a last one
    V r = hn::NegMulAdd(times, hn::Set(d, 0x1.921fb54400000p+0), size);
    V lost = hn::Zero(d);
    for (const double part : {0x1.0b4611a600000p-34, 0x1.3198a2e000000p-69, 0x1.b839a252049c1p-104}) {
        // r - product, exactly, whichever of them is the larger
        const V product = hn::Mul(times, hn::Set(d, part));
        const V less = hn::Sub(r, product);
        const V taken = hn::Sub(r, less);
        lost = hn::Add(lost, hn::Add(hn::Sub(r, hn::Add(less, taken)), hn::Sub(taken, product)));
        r = less;
    }
    const V z = hn::Mul(r, r);
    V p = hn::Set(d, 0x1.5d8a18f81b7f5p-33);
    p = hn::MulAdd(p, z, hn::Set(d, -0x1.ae5e486308c91p-26));
    p = hn::MulAdd(p, z, hn::Set(d, 0x1.71de3552d2fc0p-19));
    p = hn::MulAdd(p, z, hn::Set(d, -0x1.a01a019be89d5p-13));
    p = hn::MulAdd(p, z, hn::Set(d, 0x1.111111110f740p-7));
    p = hn::MulAdd(p, z, hn::Set(d, -0x1.5555555555548p-3));
    const V half_z = hn::Mul(hn::Set(d, 0.5), z);
    // sin(r + lost) = sin r + lost cos r
    const V sine = hn::Add(r, hn::MulAdd(hn::Mul(z, r), p, hn::NegMulAdd(lost, half_z, lost)));
    V q = hn::Set(d, -0x1.8fa4da4fb4ca1p-37);
    q = hn::MulAdd(q, z, hn::Set(d, 0x1.1ee9d9a261756p-29));
    q = hn::MulAdd(q, z, hn::Set(d, -0x1.27e4f7eff40bep-22));
    q = hn::MulAdd(q, z, hn::Set(d, 0x1.a01a019c8f1e1p-16));
    q = hn::MulAdd(q, z, hn::Set(d, -0x1.6c16c16c1502ap-10));
    q = hn::MulAdd(q, z, hn::Set(d, 0x1.555555555554bp-5));
    const V one = hn::Set(d, 1.0);
    const V most = hn::Sub(one, half_z);
    // what 1 - z/2 lost, and z/2 itself
    const V missing = hn::Sub(hn::Sub(one, most), half_z);
    const V square = product_error(d, r, r, z);
    const V small = hn::Sub(missing, hn::MulAdd(hn::Set(d, 0.5), square, hn::Mul(r, lost)));
    const V cosine = hn::Add(most, hn::MulAdd(hn::Mul(z, z), q, small));
    const auto n = hn::Add(hn::BitCast(du, moved), hn::Set(du, kIsCosine ? 1 : 0));
    const auto one_bit = hn::Set(du, 1);
    const auto odd = hn::RebindMask(d, hn::Eq(hn::And(n, one_bit), one_bit));
    V y = hn::IfThenElse(odd, cosine, sine);
    auto flip = hn::ShiftLeft<63>(hn::ShiftRight<1>(n));
    if constexpr (!kIsCosine) {
        flip = hn::Xor(flip, hn::And(hn::BitCast(du, x), hn::Set(du, std::uint64_t{1} << 63)));
    }
    y = hn::BitCast(d, hn::Xor(hn::BitCast(du, y), flip));
    return y;
}

#endif

// Where some lanes are beyond what is reduced here: those go to the C library, in extended precision where there is
// one, since glibc's cosine of a double is 8 ulp off for some.
template <bool kIsCosine, bool kFine, class D, class V, class M>
HWY_NOINLINE V with_library(D d, V x, M within) {
    HWY_ALIGN double in[HWY_MAX_BYTES / sizeof(double)];
    HWY_ALIGN double out[HWY_MAX_BYTES / sizeof(double)];
    hn::Store(hn::IfThenZeroElse(within, x), d, in);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
        const auto argument = static_cast<long double>(in[i]);
        out[i] = in[i] == 0 ? 0 : static_cast<double>(kIsCosine ? std::cos(argument) : std::sin(argument));
    }
    const V reduced = reduced_sin_or_cos<kIsCosine, kFine>(d, hn::IfThenElseZero(within, x));
    return hn::IfThenElse(within, reduced, hn::Load(d, out));
}

template <bool kIsCosine, bool kFine, class D, class V = hn::Vec<D>>
HWY_INLINE V sin_or_cos(D d, V x) {
    // by the bits: with SSE to ask whether a NaN is less is an invalid operation
    const hn::RebindToSigned<D> di;
    const auto beyond = hn::Set(di, kLeastNotReduced);
    const auto within = hn::RebindMask(d, hn::Lt(hn::BitCast(di, hn::Abs(x)), beyond));
    if (HWY_LIKELY(hn::AllTrue(d, within))) {
        return reduced_sin_or_cos<kIsCosine, kFine>(d, x);
    }
    return with_library<kIsCosine, kFine>(d, x, within);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sin_lanes(D d, V x) {
    return sin_or_cos<false, true>(d, x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sin_lanes_quick(D d, V x) {
    return sin_or_cos<false, false>(d, x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V cos_lanes(D d, V x) {
    return sin_or_cos<true, true>(d, x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V cos_lanes_quick(D d, V x) {
    return sin_or_cos<true, false>(d, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace simd_math
HWY_AFTER_NAMESPACE();

#endif  // NODEWISE_SIMD_MATH_SINCOS_INL_H_
