// SPDX-License-Identifier: BSD-3-Clause
// The plain loop: difference, pow(x, 2) and if-smaller-then-keep in one body. The branch around the two stores keeps
// compilers from vectorising it for processors without masked stores. Blocks keep memory's speed out of the matter.
#include "plain_arithmetic.h"
//
#include <cmath>
#include <limits>

#include "study.h"

namespace kmeans {
namespace {

template <int kDims>
void assign(const Planes& points, const Centres& centres, std::int64_t begin, std::int64_t end, std::int32_t* labels,
            float* best) {
    const int dims = kDims > 0 ? kDims : points.dims;
    const std::int64_t count = end - begin;
    for (std::int64_t i = 0; i < count; ++i) {
        best[i] = std::numeric_limits<float>::infinity();
        labels[begin + i] = 0;
    }
    for (int c = 0; c < centres.count; ++c) {
        const float* centre = centres.rows + std::int64_t{c} * dims;
        for (std::int64_t i = 0; i < count; ++i) {
            float distance = 0;
            for (int a = 0; a < dims; ++a) {
                distance += std::pow(points.data[a * points.stride + begin + i] - centre[a], 2.0F);
            }
            if (distance < best[i]) {
                best[i] = distance;
                labels[begin + i] = c;
            }
        }
    }
}

}  // namespace

int loop(nw_run* run) { return iterate_every(run, state(run).dims == 3 ? assign<3> : assign<0>); }

}  // namespace kmeans
