// SPDX-License-Identifier: BSD-3-Clause
// Only the centres that can be the nearest. Rounding keeps order: for a point p of a box, p - c rounded is not less
// than what the box's nearest corner gives, nor its square, nor the sum of squares. So the plain loop's arithmetic on
// the nearest and the farthest corner bounds the plain loop's distances of all points of the box, exactly, and a centre
// whose least is more than another's most is the nearest of none. The rest are tried by the same arithmetic, in order.
#include "plain_arithmetic.h"
//
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "boxes.h"
#include "simd/fixed_width.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "boxes.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"
#include "least-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kmeans {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Lanes16 = hn::CappedTag<float, kLanes>;
using V = hn::Vec<Lanes16>;
using Indexes = hn::RebindToSigned<Lanes16>;
using Sums = hn::CappedTag<double, 4>;
using SumParts = hn::Rebind<float, Sums>;

// Point vectors that share each load of a centre.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM
constexpr int kVectors = 4;
#else
constexpr int kVectors = 2;
#endif

HWY_INLINE V infinite() { return hn::Set(Lanes16(), std::numeric_limits<float>::infinity()); }

// Bounds of the distances from a box to the centres of a list, `lower` for each; the least upper one of all.
template <int kDims>
HWY_INLINE V bound(const List& list, const float* low, const float* high, int some_dims, float* lower) {
    const Lanes16 d;
    const int dims = kDims > 0 ? kDims : some_dims;
    const int lanes = static_cast<int>(hn::Lanes(d));
    V least = infinite();
    for (int i = 0; i < list.count; i += lanes) {
        V near = hn::Zero(d);
        V far = hn::Zero(d);
        for (int a = 0; a < dims; ++a) {
            const V c = hn::LoadU(d, list.planes + std::int64_t{a} * list.room + i);
            const V below = hn::Sub(hn::Set(d, low[a]), c);
            const V above = hn::Sub(c, hn::Set(d, high[a]));
            const V nearest = hn::Max(hn::Max(below, above), hn::Zero(d));
            const V farthest = hn::Min(below, above);  // with its sign the wrong way
            near = hn::Add(near, hn::Mul(nearest, nearest));
            far = hn::Add(far, hn::Mul(farthest, farthest));
        }
        hn::StoreU(near, d, lower + i);
        least = hn::Min(least, far);
    }
    return least_of(d, least);
}

// Those of `from` that may be the nearest for some point of the box.
template <int kDims>
HWY_INLINE void select(const List& from, const float* low, const float* high, int some_dims, float* lower, List& to) {
    const Lanes16 d;
    const Indexes di;
    const int dims = kDims > 0 ? kDims : some_dims;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const V least = bound<kDims>(from, low, high, dims, lower);
    int count = 0;
    for (int i = 0; i < from.count; i += lanes) {
        const auto real = hn::FirstN(d, static_cast<std::size_t>(from.count - i));
        const auto kept = hn::And(hn::Le(hn::LoadU(d, lower + i), least), real);
        const auto number = static_cast<int>(hn::CountTrue(d, kept));
        if (number == 0) {
            continue;
        }
        for (int a = 0; a < dims; ++a) {
            hn::StoreU(hn::Compress(hn::LoadU(d, from.planes + std::int64_t{a} * from.room + i), kept), d,
                       to.planes + std::int64_t{a} * to.room + count);
        }
        hn::StoreU(hn::Compress(hn::LoadU(di, from.indexes + i), hn::RebindMask(di, kept)), di, to.indexes + count);
        count += number;
    }
    for (int a = 0; a < dims; ++a) {
        hn::StoreU(infinite(), d, to.planes + std::int64_t{a} * to.room + count);
    }
    to.count = count;
}

// The nearest of the list's centres for each point of a leaf, in the plain loop's arithmetic.
template <int kDims>
HWY_INLINE void label_leaf(const List& list, const float* points, std::int64_t stride, int some_dims,
                           std::int32_t* labels) {
    const Lanes16 d;
    const Indexes di;
    const int dims = kDims > 0 ? kDims : some_dims;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t i = 0; i < kLeafPoints; i += kVectors * lanes) {
        V best[kVectors];
        hn::Vec<Indexes> label[kVectors];
        for (int v = 0; v < kVectors; ++v) {
            best[v] = infinite();
            label[v] = hn::Set(di, list.indexes[0]);
        }
        for (int c = 0; c < list.count; ++c) {
            const auto index = hn::Set(di, list.indexes[c]);
            for (int v = 0; v < kVectors; ++v) {
                V distance = hn::Zero(d);
                for (int a = 0; a < dims; ++a) {
                    const V x = hn::Sub(hn::LoadU(d, points + a * stride + i + v * lanes),
                                        hn::Set(d, list.planes[std::int64_t{a} * list.room + c]));
                    distance = hn::Add(distance, hn::Mul(x, x));
                }
                label[v] = hn::IfThenElse(hn::RebindMask(di, hn::Lt(distance, best[v])), index, label[v]);
                best[v] = hn::Min(best[v], distance);
            }
        }
        for (int v = 0; v < kVectors; ++v) {
            hn::StoreU(label[v], di, labels + i + v * lanes);
        }
    }
}

// Adds a leaf's points to their centres' sums; `table` is the size of one of the tables.
HWY_INLINE void add_leaf(const float* rows, int row, const std::int32_t* labels, double* sums, std::int64_t table) {
    const Sums d;
    const SumParts parts;
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (std::int64_t i = 0; i < kLeafPoints; ++i) {
        double* sum = sums + i % kSumTables * table + std::int64_t{labels[i]} * row;
        for (int a = 0; a < row; a += lanes) {
            hn::StoreU(hn::Add(hn::LoadU(d, sum + a), hn::PromoteTo(d, hn::LoadU(parts, rows + i * row + a))), d,
                       sum + a);
        }
    }
}

// Labels the leaves of a box of the second level and adds its points up; gives the number of distances.
template <int kDims>
double search_box(const State& own, const Boxes& boxes, std::int64_t box, List* lists, float* lower, double* sums,
                  std::int32_t* labels) {
    const Level& leaves = boxes.levels[0];
    const Level& middle = boxes.levels[1];
    const int dims = kDims > 0 ? kDims : own.dims;
    const int row = sum_row(dims);
    HWY_ALIGN std::int32_t here[kLeafPoints];
    // a bound is two distances, to a near and to a far corner
    std::int64_t distances = std::int64_t{2} * (lists[2].count + (box % kFan == 0 ? boxes.all.count : 0));
    select<kDims>(lists[2], middle.low + box * dims, middle.high + box * dims, dims, lower, lists[1]);
    for (std::int64_t leaf = box * kFan; leaf < std::min(leaves.count, (box + 1) * kFan); ++leaf) {
        const std::int64_t first = leaf * kLeafPoints;
        select<kDims>(lists[1], leaves.low + leaf * dims, leaves.high + leaf * dims, dims, lower, lists[0]);
        label_leaf<kDims>(lists[0], boxes.planes + first, boxes.stride, dims, here);
        distances += std::int64_t{2} * lists[1].count + kLeafPoints * lists[0].count;
        add_leaf(boxes.rows + first * row, row, here, sums, sum_table(own));
        for (std::int64_t i = first; labels != nullptr && i < std::min(own.points, first + kLeafPoints); ++i) {
            labels[boxes.order[i]] = here[i - first];
        }
    }
    return static_cast<double>(distances);
}

// By all threads of a team: every point once. `labels` may be null.
template <int kDims>
double search_as(const State& own, const Boxes& boxes, double* sums, std::int32_t* labels) {
    const int thread = omp_get_thread_num();
    const Level& top = boxes.levels[2];
    List* lists = boxes.lists + std::int64_t{thread} * kLevels;
    float* lower = boxes.lower + std::int64_t{thread} * boxes.all.room;
    const int dims = own.dims;
    double distances = 0;
    std::int64_t around = -1;
#pragma omp for schedule(dynamic, 4)
    for (std::int64_t box = 0; box < boxes.levels[1].count; ++box) {
        if (box / kFan != around) {
            around = box / kFan;
            select<kDims>(boxes.all, top.low + around * dims, top.high + around * dims, dims, lower, lists[2]);
        }
        distances += search_box<kDims>(own, boxes, box, lists, lower, sums, labels);
    }
    return distances;
}

double search(const State& own, const Boxes& boxes, double* sums, std::int32_t* labels) {
    return (own.dims == 3 ? search_as<3> : search_as<0>)(own, boxes, sums, labels);
}

}  // namespace HWY_NAMESPACE
}  // namespace kmeans
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kmeans {
namespace {

HWY_EXPORT(search);

// A list with room for all centres and a whole vector.
bool make_list(nw_run* run, List& list) {
    const State& own = state(run);
    list.room = static_cast<int>(padded(own.clusters, kLanes)) + kLanes;
    list.planes = scratch<float>(run, std::int64_t{list.room} * own.dims);
    list.indexes = scratch<std::int32_t>(run, list.room);
    return list.planes != nullptr && list.indexes != nullptr;
}

bool make_levels(nw_run* run, Boxes& boxes) {
    const State& own = state(run);
    std::int64_t count = (own.points + kLeafPoints - 1) / kLeafPoints;
    for (Level& level : boxes.levels) {
        level.count = count;
        level.low = scratch<float>(run, count * own.dims);
        level.high = scratch<float>(run, count * own.dims);
        if (level.low == nullptr || level.high == nullptr) {
            return false;
        }
        count = (count + kFan - 1) / kFan;
    }
    return true;
}

bool make_points(nw_run* run, Boxes& boxes) {
    const State& own = state(run);
    boxes.stride = padded(own.points, kLeafPoints);
    boxes.planes = scratch<float>(run, boxes.stride * own.dims, NW_HUGE | NW_FAST);
    boxes.rows = scratch<float>(run, boxes.stride * sum_row(own.dims), NW_HUGE | NW_FAST);
    boxes.order = scratch<std::int32_t>(run, boxes.stride, NW_HUGE);
    boxes.keys[0] = scratch<std::uint64_t>(run, own.points, NW_HUGE);
    boxes.keys[1] = scratch<std::uint64_t>(run, own.points, NW_HUGE);
    boxes.counts = scratch<std::int64_t>(run, std::int64_t{run->threads} * kDigits);
    return boxes.planes != nullptr && boxes.rows != nullptr && boxes.order != nullptr && boxes.keys[0] != nullptr &&
           boxes.keys[1] != nullptr && boxes.counts != nullptr;
}

void list_all(const Centres& centres, List& list) {
    list.count = centres.count;
    for (int c = 0; c < list.room; ++c) {
        const bool real = c < centres.count;
        list.indexes[c] = c;
        for (int a = 0; a < centres.dims; ++a) {
            list.planes[std::int64_t{a} * list.room + c] =
                real ? centres.rows[std::int64_t{c} * centres.dims + a] : std::numeric_limits<float>::infinity();
        }
    }
}

}  // namespace

int boxes_prepare(nw_run* run) {
    State& own = state(run);
    own.boxes = std::make_shared<Boxes>();
    Boxes& boxes = *own.boxes;
    bool made = make_points(run, boxes) && make_levels(run, boxes) && make_list(run, boxes.all);
    boxes.lists = scratch<List>(run, std::int64_t{run->threads} * kLevels);
    boxes.lower = scratch<float>(run, std::int64_t{run->threads} * boxes.all.room);
    own.sums = scratch<double>(run, std::int64_t{run->threads} * kSumTables * sum_table(own));
    made = made && boxes.lists != nullptr && boxes.lower != nullptr && own.sums != nullptr;
    for (int i = 0; made && i < run->threads * kLevels; ++i) {
        boxes.lists[i] = List();
        made = make_list(run, boxes.lists[i]);
    }
    return made ? 0 : 1;
}

int boxes(nw_run* run) {
    State& own = state(run);
    Boxes& all = *own.boxes;
    make_boxes(run, all);
    const std::size_t centre_bytes =
        sizeof(float) * static_cast<std::size_t>(own.clusters) * static_cast<std::size_t>(own.dims);
    auto* centres = array<float>(run, "centres");
    auto* used = array<float>(run, "used");
    auto* labels = array<std::int32_t>(run, "labels");
    std::memcpy(centres, array<float>(run, "initial"), centre_bytes);
    const std::int64_t tables = kSumTables * sum_table(own);
    double distances = 0;
#pragma omp parallel num_threads(run->threads) reduction(+ : distances)
    for (int iteration = 0; iteration < own.iterations; ++iteration) {
#pragma omp single
        {
            std::memcpy(used, centres, centre_bytes);
            list_all({used, own.clusters, own.dims}, all.all);
        }
        double* sums = own.sums + omp_get_thread_num() * tables;
        std::fill(sums, sums + tables, 0.0);
        distances += HWY_DYNAMIC_DISPATCH(search)(own, all, sums, iteration + 1 < own.iterations ? nullptr : labels);
        move_centres(own, own.sums, omp_get_num_threads() * kSumTables, centres);
    }
    own.distances = distances;
    nw_report(run, "distances per point",
              distances / (static_cast<double>(own.points) * static_cast<double>(own.iterations)));
    return 0;
}

// In the plain arithmetic a distance is three operations for each dimension.
void boxes_work(const nw_run* run, nw_work* out) {
    const State& own = state(run);
    work(run, out);
    out->flops = own.distances * 3 * own.dims;
}

}  // namespace kmeans
#endif
