// SPDX-License-Identifier: BSD-3-Clause
// What the variants share around the search for the nearest centre: points by dimension, exact sums, means.
#include "plain_arithmetic.h"
//
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "study.h"

namespace kmeans {
namespace {

template <int kDims>
void add_points(const Planes& points, const Grid& grid, std::int64_t begin, std::int64_t end,
                const std::int32_t* labels, double* sums) {
    const int dims = kDims > 0 ? kDims : points.dims;
    const int row = sum_row(dims);
    for (std::int64_t i = begin; i < end; ++i) {
        double* sum = sums + std::int64_t{labels[i]} * row;
        for (int a = 0; a < dims; ++a) {
            sum[a] += points.data[a * points.stride + i] + grid.shift - grid.shift;
        }
        sum[dims] += 1;
    }
}

}  // namespace

Grid grid_for(std::int64_t count, double largest) {
    // sums stay below 2^50 steps and double holds 2^53
    const double most = std::max(largest, 1e-30) * static_cast<double>(count);
    const double step = std::ldexp(1.0, std::ilogb(most) + 1 - 50);
    return {step, step * 0x1.8p52};
}

Planes make_planes(const nw_run* run) {
    const State& own = state(run);
    const float* rows = array<const float>(run, "points");
    const std::int64_t stride = padded(own.points, kBlock);
    const int dims = own.dims;
    float largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
    for (std::int64_t begin = 0; begin < stride; begin += kBlock) {
        for (int a = 0; a < dims; ++a) {
            float* plane = own.planes + a * stride;
            const std::int64_t end = std::min(own.points, begin + kBlock);
            for (std::int64_t i = begin; i < end; ++i) {
                const float x = rows[i * dims + a];
                plane[i] = x;
                largest = std::max(largest, std::fabs(x));
            }
            std::fill(plane + std::max(begin, end), plane + begin + kBlock, rows[(own.points - 1) * dims + a]);
        }
    }
    return {own.planes, stride, own.points, dims, largest};
}

void move_centres(const State& own, double* sums, int tables, float* centres) {
    const int row = sum_row(own.dims);
    const std::int64_t table = sum_table(own);
#pragma omp for schedule(static)
    for (int c = 0; c < own.clusters; ++c) {
        double* sum = sums + std::int64_t{c} * row;
        for (int t = 1; t < tables; ++t) {
            for (int a = 0; a <= own.dims; ++a) {
                sum[a] += sum[t * table + a];
            }
        }
        for (int a = 0; a < own.dims && sum[own.dims] > 0; ++a) {
            centres[std::int64_t{c} * own.dims + a] = static_cast<float>(sum[a] / sum[own.dims]);
        }
    }
}

int prepare_every(nw_run* run) {
    State& own = state(run);
    own.planes = scratch<float>(run, padded(own.points, kBlock) * own.dims, NW_HUGE | NW_FAST);
    own.best = scratch<float>(run, run->threads * kBlock);
    own.sums = scratch<double>(run, run->threads * sum_table(own));
    return own.planes == nullptr || own.best == nullptr || own.sums == nullptr ? 1 : 0;
}

int iterate_every(nw_run* run, Assign assign, Pack pack) {
    const State& own = state(run);
    const Planes points = make_planes(run);
    const Grid grid = grid_for(own.points, points.largest);
    const auto add = own.dims == 3 ? add_points<3> : add_points<0>;
    const std::size_t centre_bytes =
        sizeof(float) * static_cast<std::size_t>(own.clusters) * static_cast<std::size_t>(own.dims);
    auto* centres = array<float>(run, "centres");
    auto* used = array<float>(run, "used");
    auto* labels = array<std::int32_t>(run, "labels");
    Centres present{used, own.clusters, own.dims};
    std::memcpy(centres, array<float>(run, "initial"), centre_bytes);
#pragma omp parallel num_threads(run->threads)
    for (int iteration = 0; iteration < own.iterations; ++iteration) {
#pragma omp single
        {
            std::memcpy(used, centres, centre_bytes);
            if (pack != nullptr) {
                pack(own.packed, points, present);
            }
        }
        double* sums = own.sums + omp_get_thread_num() * sum_table(own);
        float* best = own.best + omp_get_thread_num() * kBlock;
        std::fill(sums, sums + sum_table(own), 0.0);
#pragma omp for schedule(static)
        for (std::int64_t begin = 0; begin < own.points; begin += kBlock) {
            const std::int64_t end = std::min(own.points, begin + kBlock);
            assign(points, present, begin, end, labels, best);
            add(points, grid, begin, end, labels, sums);
        }
        move_centres(own, own.sums, omp_get_num_threads(), centres);
    }
    return 0;
}

}  // namespace kmeans
