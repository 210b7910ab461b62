// SPDX-License-Identifier: BSD-3-Clause
// Sorts points along a Z-curve: the key interleaves the leading bits of the coordinates, so that neighbours in the
// order are neighbours in space. A bad order costs time and nothing else: the boxes are those of the points as they
// lie.
#include "plain_arithmetic.h"
//
#include <omp.h>

#include <algorithm>
#include <limits>

#include "boxes.h"

namespace kmeans {
namespace {

constexpr int kKeyBits = 2 * kDigitBits;
constexpr std::int64_t kAhead = 32;  // points that are fetched before they are needed

// How coordinates become whole numbers of `bits` bits.
struct Scale {
    int bits = 1;
    int dims = 1;  // that are looked at
    double low[kKeyBits] = {};
    double factor[kKeyBits] = {};
};

struct Share {
    std::int64_t begin;
    std::int64_t end;
};

Share share_of(std::int64_t count) {
    const std::int64_t thread = omp_get_thread_num();
    const std::int64_t threads = omp_get_num_threads();
    return {count * thread / threads, count * (thread + 1) / threads};
}

Scale find_scale(const State& own, const float* points) {
    Scale scale;
    scale.dims = std::min(own.dims, kKeyBits);
    scale.bits = kKeyBits / scale.dims;
    const std::int64_t count = own.points;
    for (int a = 0; a < scale.dims; ++a) {
        float low = std::numeric_limits<float>::max();
        float high = std::numeric_limits<float>::lowest();
#pragma omp parallel for schedule(static) reduction(min : low) reduction(max : high)
        for (std::int64_t i = 0; i < count; ++i) {
            const float x = points[i * own.dims + a];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        const double width = static_cast<double>(high) - low;
        scale.low[a] = low;
        scale.factor[a] = width > 0 ? ((1 << scale.bits) - 1) / width : 0;
    }
    return scale;
}

// Eight bits, two zeros between each and the next.
std::uint32_t spread(std::uint32_t x) {
    x = (x | x << 8) & 0x00f00f;
    x = (x | x << 4) & 0x0c30c3;
    return (x | x << 2) & 0x249249;
}

std::uint32_t key_of(const Scale& scale, const float* point) {
    std::uint32_t parts[kKeyBits];
    for (int a = 0; a < scale.dims; ++a) {
        parts[a] = static_cast<std::uint32_t>((point[a] - scale.low[a]) * scale.factor[a]);
    }
    if (scale.dims == 3) {
        return spread(parts[0]) << 2 | spread(parts[1]) << 1 | spread(parts[2]);
    }
    std::uint32_t key = 0;
    for (int bit = scale.bits - 1; bit >= 0; --bit) {
        for (int a = 0; a < scale.dims; ++a) {
            key = key << 1 | (parts[a] >> bit & 1);
        }
    }
    return key;
}

std::size_t digit_of(std::uint64_t key, int pass) { return key >> (32 + pass * kDigitBits) & (kDigits - 1); }

// One stable pass: each thread's keys of a digit behind those of the threads before it. By all threads of a team.
void scatter(Boxes& boxes, std::int64_t count, int pass) {
    const std::uint64_t* from = boxes.keys[pass];
    std::uint64_t* to = boxes.keys[1 - pass];
    const Share share = share_of(count);
    std::int64_t* own = boxes.counts + std::int64_t{omp_get_thread_num()} * kDigits;
    std::fill(own, own + kDigits, 0);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
        ++own[digit_of(from[i], pass)];
    }
#pragma omp barrier
#pragma omp single
    {
        std::int64_t at = 0;
        for (int digit = 0; digit < kDigits; ++digit) {
            for (int thread = 0; thread < omp_get_num_threads(); ++thread) {
                std::int64_t& start = boxes.counts[std::int64_t{thread} * kDigits + digit];
                at += start;
                start = at - start;
            }
        }
    }
    for (std::int64_t i = share.begin; i < share.end; ++i) {
        to[own[digit_of(from[i], pass)]++] = from[i];
    }
#pragma omp barrier
}

// The points of a leaf, from where they were; behind the last one its copies, which are added to no sum.
void gather_leaf(const State& own, Boxes& boxes, const Grid& grid, const float* points, std::int64_t leaf) {
    const int dims = own.dims;
    const int row = sum_row(dims);
    float* low = boxes.levels[0].low + leaf * dims;
    float* high = boxes.levels[0].high + leaf * dims;
    std::fill(low, low + dims, std::numeric_limits<float>::max());
    std::fill(high, high + dims, std::numeric_limits<float>::lowest());
    for (std::int64_t i = leaf * kLeafPoints; i < (leaf + 1) * kLeafPoints; ++i) {
        const std::int64_t at = std::min(i, own.points - 1);
        const std::int64_t ahead = std::min(i + kAhead, own.points - 1);
        __builtin_prefetch(points + static_cast<std::int64_t>(boxes.keys[0][ahead] & 0xffffffff) * dims);
        const auto index = static_cast<std::int32_t>(boxes.keys[0][at] & 0xffffffff);
        const float* point = points + std::int64_t{index} * dims;
        float* sums = boxes.rows + i * row;
        std::fill(sums, sums + row, 0.0F);
        for (int a = 0; a < dims; ++a) {
            const float x = point[a];
            boxes.planes[a * boxes.stride + i] = x;
            low[a] = std::min(low[a], x);
            high[a] = std::max(high[a], x);
            sums[a] = i < own.points ? static_cast<float>(x + grid.shift - grid.shift) : 0.0F;
        }
        if (i < own.points) {
            sums[dims] = 1;
            boxes.order[i] = index;
        }
    }
}

void join_boxes(const Level& from, Level& to, int dims) {
    for (std::int64_t box = 0; box < to.count; ++box) {
        float* low = to.low + box * dims;
        float* high = to.high + box * dims;
        const std::int64_t first = box * kFan;
        std::copy_n(from.low + first * dims, dims, low);
        std::copy_n(from.high + first * dims, dims, high);
        for (std::int64_t part = first + 1; part < std::min(from.count, first + kFan); ++part) {
            for (int a = 0; a < dims; ++a) {
                low[a] = std::min(low[a], from.low[part * dims + a]);
                high[a] = std::max(high[a], from.high[part * dims + a]);
            }
        }
    }
}

}  // namespace

void make_boxes(const nw_run* run, Boxes& boxes) {
    const State& own = state(run);
    const auto* points = array<const float>(run, "points");
    const Scale scale = find_scale(own, points);
    double largest = 0;
    const std::int64_t count = own.points * own.dims;
#pragma omp parallel for schedule(static) reduction(max : largest)
    for (std::int64_t i = 0; i < count; ++i) {
        const double size = points[i] < 0 ? -points[i] : points[i];
        largest = size > largest ? size : largest;
    }
    const Grid grid = grid_for(own.points, largest);
#pragma omp parallel num_threads(run->threads)
    {
        const Share share = share_of(own.points);
        for (std::int64_t i = share.begin; i < share.end; ++i) {
            boxes.keys[0][i] =
                std::uint64_t{key_of(scale, points + i * own.dims)} << 32 | static_cast<std::uint64_t>(i);
        }
#pragma omp barrier
        scatter(boxes, own.points, 0);
        scatter(boxes, own.points, 1);
#pragma omp for schedule(static)
        for (std::int64_t leaf = 0; leaf < boxes.levels[0].count; ++leaf) {
            gather_leaf(own, boxes, grid, points, leaf);
        }
    }
    for (int level = 1; level < kLevels; ++level) {
        join_boxes(boxes.levels[level - 1], boxes.levels[level], own.dims);
    }
}

}  // namespace kmeans
