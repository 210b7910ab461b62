// SPDX-License-Identifier: BSD-3-Clause
// Every distance by SIMD, points across lanes. |p|² is the same for all centres of a point, so |c|² / 2 - p · c orders
// them: one fused multiply-add for each dimension and a minimum. That is rounded unlike the plain loop's distance, so
// it only finds the group of centres with the least. Where the least of all other groups is so near that rounding could
// have turned them, all centres are in doubt, else that group; among these the plain arithmetic decides.
#include "plain_arithmetic.h"
//
#include <algorithm>
#include <cmath>
#include <limits>

#include "simd/fixed_width.h"
#include "study.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"
#include "least-inl.h"

#ifndef KMEANS_SIMD_SHARED
#define KMEANS_SIMD_SHARED
namespace kmeans {
constexpr int kGroup = 16;  // centres, the lanes of the widest vector that is used
inline int padded_clusters(int clusters) { return static_cast<int>(padded(clusters, kGroup)); }
}  // namespace kmeans
#endif

HWY_BEFORE_NAMESPACE();
namespace kmeans {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Lanes16 = hn::CappedTag<float, kGroup>;
using V = hn::Vec<Lanes16>;
using Indexes = hn::RebindToSigned<Lanes16>;

// Point vectors that share each load of a centre: as many as the registers hold.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM
constexpr int kVectors = 4;
#else
constexpr int kVectors = 2;
#endif

// The centres as rows of |c|² / 2 and the coordinates, then by dimension; behind the last are infinitely far ones.
struct Packed {
    const float* rows;
    const float* planes;
    int count;  // padded
};

using Group = hn::Vec<Indexes>;

// Of each point the least value of all groups, and which group has it; and the least of all other groups.
template <int kDims>
HWY_INLINE void search_groups(const Packed& centres, const float* points, std::int64_t stride, int some_dims,
                              V (&best)[kVectors], V (&second)[kVectors], Group (&group_of)[kVectors]) {
    const Lanes16 d;
    const Indexes di;
    const int dims = kDims > 0 ? kDims : some_dims;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (int v = 0; v < kVectors; ++v) {
        best[v] = hn::Set(d, std::numeric_limits<float>::infinity());
        second[v] = best[v];
        group_of[v] = hn::Zero(di);
    }
    const float* row = centres.rows;
    for (int group = 0; group < centres.count / kGroup; ++group) {
        V least[kVectors];
        for (int v = 0; v < kVectors; ++v) {
            least[v] = hn::Set(d, std::numeric_limits<float>::infinity());
        }
        for (int c = 0; c < kGroup; ++c, row += dims + 1) {
            for (int v = 0; v < kVectors; ++v) {
                V value = hn::Set(d, row[0]);
                for (int a = 0; a < dims; ++a) {
                    value = hn::NegMulAdd(hn::LoadU(d, points + a * stride + v * lanes), hn::Set(d, row[a + 1]), value);
                }
                least[v] = hn::Min(least[v], value);
            }
        }
        for (int v = 0; v < kVectors; ++v) {
            const auto less = hn::Lt(least[v], best[v]);
            second[v] = hn::Min(second[v], hn::Max(best[v], least[v]));
            best[v] = hn::Min(best[v], least[v]);
            group_of[v] = hn::IfThenElse(hn::RebindMask(di, less), hn::Set(di, group), group_of[v]);
        }
    }
}

// The nearest of the centres [begin, end), whole groups, in the plain loop's arithmetic; the first of several.
template <int kDims>
HWY_INLINE std::int32_t decide(const Packed& centres, const float* point, std::int64_t stride, int some_dims, int begin,
                               int end) {
    const Lanes16 d;
    const int dims = kDims > 0 ? kDims : some_dims;
    const int lanes = static_cast<int>(hn::Lanes(d));
    V least = hn::Set(d, std::numeric_limits<float>::infinity());
    const Indexes di;
    auto at = hn::Set(di, begin);
    for (int c = begin; c < end; c += lanes) {
        V distance = hn::Zero(d);
        for (int a = 0; a < dims; ++a) {
            const V x = hn::Sub(hn::Set(d, point[a * stride]),
                                hn::LoadU(d, centres.planes + std::int64_t{a} * centres.count + c));
            distance = hn::Add(distance, hn::Mul(x, x));
        }
        const auto less = hn::Lt(distance, least);
        at = hn::IfThenElse(hn::RebindMask(di, less), hn::Set(di, c), at);
        least = hn::Min(least, distance);
    }
    // the first centre of each lane's least; of those that are least of all, the lowest
    const auto index = hn::IfThenElse(hn::RebindMask(di, hn::Eq(least, least_of(d, least))),
                                      hn::Add(at, hn::Iota(di, 0)), hn::Set(di, 0x7fffffff));
    return hn::GetLane(hn::MinOfLanes(di, index));
}

template <int kDims>
void assign_as(const Planes& points, const Centres& centres, std::int64_t begin, std::int64_t end,
               std::int32_t* labels) {
    const Lanes16 d;
    const Indexes di;
    const int count = padded_clusters(centres.count);
    const int dims = points.dims;
    const Packed packed{centres.packed, centres.packed + std::int64_t{count} * (dims + 1), count};
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const V doubt = hn::Set(d, centres.doubt);
    HWY_ALIGN std::int32_t first[kVectors * kGroup];
    HWY_ALIGN std::int32_t last[kVectors * kGroup];
    for (std::int64_t i = begin; i < end; i += kVectors * lanes) {
        V best[kVectors];
        V second[kVectors];
        Group group_of[kVectors];
        search_groups<kDims>(packed, points.data + i, points.stride, dims, best, second, group_of);
        for (int v = 0; v < kVectors; ++v) {
            const auto sure = hn::RebindMask(di, hn::Gt(second[v], hn::Add(best[v], doubt)));
            const auto group = hn::Mul(group_of[v], hn::Set(di, kGroup));
            hn::Store(hn::IfThenElseZero(sure, group), di, first + v * lanes);
            hn::Store(hn::IfThenElse(sure, hn::Add(group, hn::Set(di, kGroup)), hn::Set(di, count)), di,
                      last + v * lanes);
        }
        const std::int64_t valid = std::min(end - i, kVectors * lanes);
        for (std::int64_t p = 0; p < valid; ++p) {
            labels[i + p] = decide<kDims>(packed, points.data + i + p, points.stride, dims, first[p], last[p]);
        }
    }
}

void assign(const Planes& points, const Centres& centres, std::int64_t begin, std::int64_t end, std::int32_t* labels,
            float*) {
    (points.dims == 3 ? assign_as<3> : assign_as<0>)(points, centres, begin, end, labels);
}

}  // namespace HWY_NAMESPACE
}  // namespace kmeans
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kmeans {
namespace {

HWY_EXPORT(assign);

void assign_points(const Planes& points, const Centres& centres, std::int64_t begin, std::int64_t end,
                   std::int32_t* labels, float* best) {
    HWY_DYNAMIC_DISPATCH(assign)(points, centres, begin, end, labels, best);
}

// How far |c|² / 2 - p · c of the plain loop's choice can be above the least, as both are rounded. With D dimensions,
// u = 2^-24 and S = D times the square of the largest coordinate, a plain distance, at most 4 S, is off by at most
// (D + 2) u of itself; the expression, whose parts are at most 1.5 S, by (1.6 D + 2) u S with products rounded, too.
// Twice either: (7.3 D + 12.1) u S, and a little where numbers are too small for relative errors. Infinite where
// something may overflow.
float doubt_of(double largest, int dims) {
    const double squares = dims * largest * largest;
    const double doubt = (8.0 * dims + 16) * 0x1p-24 * squares + 0x1p-100;
    return 16 * squares < std::numeric_limits<float>::max() ? static_cast<float>(doubt)
                                                            : std::numeric_limits<float>::infinity();
}

void pack(float* packed, const Planes& points, Centres& centres) {
    const int count = padded_clusters(centres.count);
    const int dims = centres.dims;
    float* planes = packed + std::int64_t{count} * (dims + 1);
    float largest = points.largest;
    constexpr float kFar = std::numeric_limits<float>::infinity();
    for (int c = 0; c < count; ++c) {
        float* row = packed + std::int64_t{c} * (dims + 1);
        double square = 0;
        for (int a = 0; a < dims; ++a) {
            const bool real = c < centres.count;
            const float x = real ? centres.rows[std::int64_t{c} * dims + a] : 0;
            row[a + 1] = x;
            planes[std::int64_t{a} * count + c] = real ? x : kFar;
            square += static_cast<double>(x) * x;
            largest = std::max(largest, std::fabs(x));
        }
        row[0] = c < centres.count ? static_cast<float>(square / 2) : kFar;
    }
    centres.packed = packed;
    centres.doubt = doubt_of(largest, dims);
}

}  // namespace

int simd_prepare(nw_run* run) {
    State& own = state(run);
    own.packed = scratch<float>(run, std::int64_t{padded_clusters(own.clusters)} * (2 * own.dims + 1));
    return own.packed == nullptr ? 1 : prepare_every(run);
}

int simd(nw_run* run) { return iterate_every(run, assign_points, pack); }

}  // namespace kmeans
#endif
