// SPDX-License-Identifier: BSD-3-Clause
// k-means by Lloyd's iteration, defined to the last bit, so that all variants give the same labels and centres:
//   a distance is the sum, dimension by dimension, of (p - c)², in float, each operation rounded;
//   a point belongs to the centre of least distance, of several such to the one of lowest index, where all distances
//   overflow to the first;
//   a centre becomes the mean of its points, summed exactly (see Grid), or stays where it has none.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "abi/kernel.h"

namespace kmeans {

// Points of a block share the nearest cache with their distances; planes are padded to whole blocks.
constexpr std::int64_t kBlock = 1024;
constexpr std::size_t kLine = 64;

// Coordinates are rounded to multiples of `step`, a power of two so small that it changes nothing for integers and
// little for others, and so large that sums of all points' are exact in double: they depend on no order.
// x + shift - shift rounds x.
struct Grid {
    double step = 0;
    double shift = 0;
};

// The grid for so many coordinates of this size at most.
Grid grid_for(std::int64_t count, double largest);

// Points by dimension: coordinate a of point i is planes[a * stride + i]. Behind the last point are copies of it.
struct Planes {
    const float* data = nullptr;
    std::int64_t stride = 0;
    std::int64_t count = 0;
    int dims = 0;
    float largest = 0;  // of the coordinates' sizes
};

// The centres of an iteration, row by row as the outputs have them.
struct Centres {
    const float* rows = nullptr;
    int count = 0;
    int dims = 0;
    const float* packed = nullptr;  // the centres as a kernel wants them
    float doubt = 0;                // see simd.cpp
};

// What check expects: computed once by other means than the variants'.
struct Expected {
    std::vector<std::int32_t> labels;
    std::vector<float> centres;
    std::vector<float> used;
    double inertia = 0;
};

struct Boxes;

// What the study keeps from layout to release.
struct State {
    std::int64_t points = 0;
    int clusters = 0;
    int dims = 0;
    int iterations = 0;
    std::unique_ptr<Expected> expected;
    float* planes = nullptr;
    float* best = nullptr;  // a block for each thread
    float* packed = nullptr;
    double* sums = nullptr;  // tables of sums for each thread
    std::shared_ptr<Boxes> boxes;
    double distances = 0;  // that the variant `boxes` computed in its last run
};

inline State& state(const nw_run* run) { return *static_cast<State*>(run->own); }
inline std::int64_t padded(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; }

template <typename T>
T* array(const nw_run* run, const char* name) {
    return static_cast<T*>(nw_data(run, name));
}

// Scratch memory for `count` elements; null with the run's error set.
template <typename T>
T* scratch(nw_run* run, std::int64_t count, unsigned how = 0) {
    return static_cast<T*>(run->memory(run, static_cast<std::size_t>(count) * sizeof(T), how));
}

// A row of sums has a place for each dimension, then the number of points, and is a whole number of vectors.
constexpr int sum_row(int dims) { return (dims + 1 + 3) / 4 * 4; }
inline std::int64_t sum_table(const State& own) { return std::int64_t{own.clusters} * sum_row(own.dims); }

// Adds up the first `tables` tables of sums and moves the centres. Called by all threads of a team.
void move_centres(const State& own, double* sums, int tables, float* centres);

// Transposes the points into the state's planes.
Planes make_planes(const nw_run* run);

// Labels the points [begin, end), of one block, whole vectors of it where it likes; `best` is a block to work in.
using Assign = void (*)(const Planes& points, const Centres& centres, std::int64_t begin, std::int64_t end,
                        std::int32_t* labels, float* best);
// Puts the centres of an iteration as the kernel wants them, by one thread; may be null.
using Pack = void (*)(float* packed, const Planes& points, Centres& centres);

// The iterations of all variants that look at every centre for every point.
int prepare_every(nw_run* run);
int iterate_every(nw_run* run, Assign assign, Pack pack = nullptr);

int loop(nw_run* run);
int split(nw_run* run);
int split_int(nw_run* run);
int split_unsigned(nw_run* run);
int simd_prepare(nw_run* run);
int simd(nw_run* run);
int boxes_prepare(nw_run* run);
int boxes(nw_run* run);
void boxes_work(const nw_run* run, nw_work* out);
int read_points(nw_run* run);

int layout(nw_run* run);
int fill(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);
void release(nw_run* run);

}  // namespace kmeans
