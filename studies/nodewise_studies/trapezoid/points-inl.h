// SPDX-License-Identifier: BSD-3-Clause
// The sums in vectors, for any type `Ops` that does arithmetic: Highway's for each instruction set, and a test's, which
// counts. Included once for each instruction set, inside the region that is compiled for it.
//
// With u = x / 2, 4 / (1 + x²) = 1 / (1/4 + u²): no multiplication by 4. `a` and `h` are those of u, so that sums are
// of f itself.
#if defined(TRAPEZOID_POINTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRAPEZOID_POINTS_INL_H
#undef TRAPEZOID_POINTS_INL_H
#else
#define TRAPEZOID_POINTS_INL_H
#endif

namespace trapezoid {
namespace HWY_NAMESPACE {

// 1 flop by the instruction. Refined 5: a division in single precision, what is missing to 1 (2), and its share of the
// quotient added (2). The estimate is right to about 23 bits, the quotient to 46.
template <class Ops, bool kRefined>
typename Ops::V inverse(typename Ops::V d) {
    const typename Ops::V one = Ops::set(1.0);
    if constexpr (kRefined) {
        const typename Ops::V q = Ops::rough_inverse(d);
        return Ops::mul_add(q, Ops::neg_mul_add(d, q, one), q);
    } else {
        return Ops::div(one, d);
    }
}

template <class Ops>
typename Ops::V denominator(typename Ops::V u) {
    return Ops::mul_add(u, u, Ops::set(0.25));
}

template <class Ops, bool kRefined>
typename Ops::V f(typename Ops::V u) {
    return inverse<Ops, kRefined>(denominator<Ops>(u));
}

template <class Ops>
typename Ops::V at(std::int64_t i, double a, double h) {
    return Ops::mul_add(Ops::index(i), Ops::set(h), Ops::set(a));
}

// An interval a lane: both ends from the index (4 flops), f twice (2 × 7 or 2 × 3), their sum, times half a width,
// added.
template <class Ops, bool kRefined>
typename Ops::V sum_intervals(std::int64_t begin, std::int64_t end, double a, double h, double half_width) {
    typename Ops::V sum = Ops::set(0.0);
    const std::int64_t lanes = Ops::lanes();
    for (std::int64_t i = begin; i < end; i += lanes) {
        const typename Ops::V left = f<Ops, kRefined>(at<Ops>(i, a, h));
        const typename Ops::V right = f<Ops, kRefined>(at<Ops>(i + 1, a, h));
        sum = Ops::add(sum, Ops::mul(Ops::add(left, right), Ops::set(half_width)));
    }
    return sum;
}

// A point a lane: from the index (2 flops), f once (7 or 3), added.
template <class Ops, bool kRefined>
typename Ops::V sum_points(std::int64_t begin, std::int64_t end, double a, double h) {
    typename Ops::V sum = Ops::set(0.0);
    const std::int64_t lanes = Ops::lanes();
    for (std::int64_t i = begin; i < end; i += lanes) {
        sum = Ops::add(sum, f<Ops, kRefined>(at<Ops>(i, a, h)));
    }
    return sum;
}

// Four points a lane with one division, since 1/p + 1/q = (p + q) / (p q): points 2 + 3 flops, denominators 4 × 2, the
// two pairs 2 × 2, the pair of pairs 4, the division and the sum 2: 23.
template <class Ops>
typename Ops::V sum_quads(std::int64_t begin, std::int64_t end, double a, double h) {
    using V = typename Ops::V;
    V sum = Ops::set(0.0);
    const std::int64_t lanes = Ops::lanes();
    const V step = Ops::set(h * static_cast<double>(lanes));
    const V twice = Ops::set(h * static_cast<double>(2 * lanes));
    const V thrice = Ops::set(h * static_cast<double>(3 * lanes));
    for (std::int64_t i = begin; i < end; i += 4 * lanes) {
        const V u = at<Ops>(i, a, h);
        const V p = denominator<Ops>(u);
        const V q = denominator<Ops>(Ops::add(u, step));
        const V r = denominator<Ops>(Ops::add(u, twice));
        const V s = denominator<Ops>(Ops::add(u, thrice));
        const V pq = Ops::mul(p, q);
        const V rs = Ops::mul(r, s);
        const V above = Ops::mul_add(Ops::add(p, q), rs, Ops::mul(Ops::add(r, s), pq));
        sum = Ops::add(sum, Ops::div(above, Ops::mul(pq, rs)));
    }
    return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace trapezoid

#endif
