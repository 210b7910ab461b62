// SPDX-License-Identifier: BSD-3-Clause
// The vectorised sums on each instruction set that Highway knows; what is left over goes one by one.
#include <cstdint>

#include "simd/targets.h"
#include "study.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vector.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
#include "points-inl.h"
namespace trapezoid {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct VectorOps {
    using V = hn::Vec<D>;
    using Narrow = hn::Rebind<float, D>;
    using Index = hn::Rebind<std::int32_t, D>;
    static std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }
    static V set(double x) { return hn::Set(D(), x); }
    static V index(std::int64_t i) {
        // an Iota that starts at i would be built in memory each time
        return hn::PromoteTo(D(), hn::Add(hn::Iota(Index(), 0), hn::Set(Index(), static_cast<std::int32_t>(i))));
    }
    static V add(V a, V b) { return hn::Add(a, b); }
    static V mul(V a, V b) { return hn::Mul(a, b); }
    static V div(V a, V b) { return hn::Div(a, b); }
    static V mul_add(V a, V b, V c) { return hn::MulAdd(a, b, c); }
    static V neg_mul_add(V a, V b, V c) { return hn::NegMulAdd(a, b, c); }
    static V rough_inverse(V d) {
        return hn::PromoteTo(D(), hn::Div(hn::Set(Narrow(), 1.0F), hn::DemoteTo(Narrow(), d)));
    }
};

using Wide = VectorOps<hn::ScalableTag<double>>;
using Single = VectorOps<hn::CappedTag<double, 1>>;

double total(Wide::V v) { return hn::GetLane(hn::SumOfLanes(hn::ScalableTag<double>(), v)); }
double one(Single::V v) { return hn::GetLane(v); }

// Where the last whole step of `step` ends.
std::int64_t whole(std::int64_t begin, std::int64_t end, std::int64_t step) {
    return begin + (end - begin) / step * step;
}

template <bool kRefined>
double intervals_with(std::int64_t begin, std::int64_t end, double a, double h) {
    const std::int64_t middle = whole(begin, end, Wide::lanes());
    // h is that of u = x / 2, so half a width of x is h
    return total(sum_intervals<Wide, kRefined>(begin, middle, a, h, h)) +
           one(sum_intervals<Single, kRefined>(middle, end, a, h, h));
}

template <bool kRefined>
double points_with(std::int64_t begin, std::int64_t end, double a, double h) {
    const std::int64_t middle = whole(begin, end, Wide::lanes());
    return total(sum_points<Wide, kRefined>(begin, middle, a, h)) +
           one(sum_points<Single, kRefined>(middle, end, a, h));
}

}  // namespace

double intervals(std::int64_t begin, std::int64_t end, double a, double h, bool refined) {
    return refined ? intervals_with<true>(begin, end, a, h) : intervals_with<false>(begin, end, a, h);
}

double points(std::int64_t begin, std::int64_t end, double a, double h, bool refined) {
    return refined ? points_with<true>(begin, end, a, h) : points_with<false>(begin, end, a, h);
}

double points_by_four(std::int64_t begin, std::int64_t end, double a, double h) {
    const std::int64_t middle = whole(begin, end, 4 * Wide::lanes());
    return total(sum_quads<Wide>(begin, middle, a, h)) + points_with<false>(middle, end, a, h);
}

}  // namespace HWY_NAMESPACE
}  // namespace trapezoid
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trapezoid {
namespace {

HWY_EXPORT(intervals);
HWY_EXPORT(points);
HWY_EXPORT(points_by_four);

}  // namespace

double intervals_sum(const Integral& integral, std::int64_t begin, std::int64_t end, Division division) {
    return HWY_DYNAMIC_DISPATCH(intervals)(begin, end, integral.a / 2, integral.h / 2, division == Division::refined);
}

double points_sum(const Integral& integral, std::int64_t begin, std::int64_t end, Division division) {
    return HWY_DYNAMIC_DISPATCH(points)(begin, end, integral.a / 2, integral.h / 2, division == Division::refined);
}

double quads_sum(const Integral& integral, std::int64_t begin, std::int64_t end) {
    return HWY_DYNAMIC_DISPATCH(points_by_four)(begin, end, integral.a / 2, integral.h / 2);
}

}  // namespace trapezoid
#endif
