// SPDX-License-Identifier: BSD-3-Clause
// The plain loop, split: one loop for distances, with x * x, one for labels and one for the least, by conditional
// expressions. They vectorise; the last two in one body would not. The loops' counters are of type Counter.
#include "plain_arithmetic.h"
//
#include <limits>

#include "study.h"

namespace kmeans {
namespace {

// The first dimension's squares, or those of another, added.
template <typename Counter, bool kFirst>
void add_squares(const float* __restrict plane, float centre, Counter count, float* __restrict distance) {
    for (Counter i = 0; i < count; ++i) {
        const float x = plane[i] - centre;
        distance[i] = kFirst ? x * x : distance[i] + x * x;
    }
}

template <typename Counter>
void all_squares(const float* __restrict x, const float* __restrict y, const float* __restrict z, const float* centre,
                 Counter count, float* __restrict distance) {
    for (Counter i = 0; i < count; ++i) {
        const float dx = x[i] - centre[0];
        const float dy = y[i] - centre[1];
        const float dz = z[i] - centre[2];
        distance[i] = dx * dx + dy * dy + dz * dz;
    }
}

template <typename Counter>
void keep_smaller(const float* __restrict distance, std::int32_t centre, Counter count, float* __restrict best,
                  std::int32_t* __restrict labels) {
    for (Counter i = 0; i < count; ++i) {
        labels[i] = distance[i] < best[i] ? centre : labels[i];
    }
    for (Counter i = 0; i < count; ++i) {
        best[i] = distance[i] < best[i] ? distance[i] : best[i];
    }
}

template <typename Counter>
void assign(const Planes& points, const Centres& centres, std::int64_t begin, std::int64_t end, std::int32_t* labels,
            float* best) {
    alignas(kLine) float distance[kBlock];
    const auto count = static_cast<Counter>(end - begin);
    for (Counter i = 0; i < count; ++i) {
        best[i] = std::numeric_limits<float>::infinity();
        labels[begin + static_cast<std::int64_t>(i)] = 0;
    }
    const float* plane = points.data + begin;
    for (int c = 0; c < centres.count; ++c) {
        const float* centre = centres.rows + std::int64_t{c} * points.dims;
        if (points.dims == 3) {
            all_squares<Counter>(plane, plane + points.stride, plane + 2 * points.stride, centre, count, distance);
        } else {
            add_squares<Counter, true>(plane, centre[0], count, distance);
            for (int a = 1; a < points.dims; ++a) {
                add_squares<Counter, false>(plane + a * points.stride, centre[a], count, distance);
            }
        }
        keep_smaller<Counter>(distance, c, count, best, labels + begin);
    }
}

}  // namespace

int split(nw_run* run) { return iterate_every(run, assign<std::int64_t>); }
int split_int(nw_run* run) { return iterate_every(run, assign<int>); }
int split_unsigned(nw_run* run) { return iterate_every(run, assign<unsigned>); }

}  // namespace kmeans
