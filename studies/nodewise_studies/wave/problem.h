// SPDX-License-Identifier: BSD-3-Clause
// What a run's arrays mean: a rank's slab of the grid, with planes of its neighbours around it and zeros outside the
// grid.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/kernel.h"

namespace wave {

// Floats of a cache line. Left of each row lies one line of zeros, which is right of the row before, too.
constexpr std::int64_t kLine = 16;
constexpr int kMostRadius = 8;
static_assert(kMostRadius <= kLine);

struct Problem {
    std::int64_t nz, ny, nx;  // the grid over all ranks, x the fastest
    std::int64_t begin, end;  // this rank's planes
    std::int64_t ghost;       // planes of others, or zeros, below `begin` and from `end` on
    std::int64_t row, plane;  // floats from a row to the next, from a plane to the next
    int radius;               // half of the order in space
    int steps;                // in time
    int between;              // steps from an exchange to the next where several are made at once
    int active;               // ranks that have planes
    float* even;              // the field at even steps, and
    float* odd;      // at odd ones: of two neighbouring steps the later one overwrites the one before the earlier
    const float* c;  // dt² / (h² m) at each point, 0 outside the grid
    float* traces;   // what the receivers recorded: a row of nx for each step
    std::int64_t source_z, source_y, source_x;
    std::int64_t receiver_z, receiver_y;

    // Where a row's first point lies; z and y may be outside by the radius.
    [[nodiscard]] std::int64_t at(std::int64_t z, std::int64_t y) const {
        return (z - begin + ghost) * plane + (y + radius) * row + kLine;
    }
    // What is written in step `step`, from its time to the next.
    [[nodiscard]] float* before(int step) const { return step % 2 == 0 ? odd : even; }
    [[nodiscard]] float* now(int step) const { return step % 2 == 0 ? even : odd; }
};

// What follows from the knobs and is small.
struct State {
    float weight[kMostRadius + 1];  // of the second derivative in all three directions: the point, its neighbours
    std::vector<float> keep_z;      // how much of a difference in time the sponge leaves, a factor for each direction
    std::vector<float> keep_y;
    std::vector<float> keep_x;     // whole lines
    std::vector<float> wavelet;    // the source at each step
    std::vector<double> due_even;  // what check expects, computed once
    std::vector<double> due_odd;
    std::vector<double> due_traces;
};

Problem problem(const nw_run* run);
inline State& state(const nw_run* run) { return *static_cast<State*>(run->own); }

// Weights of the second derivative of order 2 · radius on a grid of spacing 1: of the point, then of its neighbours.
void derivative_weights(int radius, double* weight);

// Bytes of the caches that a thread can count on: its second, and of the last an eighth, since so many cores share one.
double cache_of_thread();

// What the sponge leaves at a place of n, `width` points at either end.
double keep(std::int64_t at, std::int64_t n, std::int64_t width);

// The field at a point at the beginning, or a step before it (`earlier`).
class Start {
  public:
    Start(const nw_run* run, const Problem& p);
    [[nodiscard]] double value(std::int64_t z, std::int64_t y, std::int64_t x, bool earlier) const;

  private:
    enum class Kind { field, rest, pulse } kind_;
    double courant_;
    double middle_[3];
    double width_;
    std::vector<double> along_[3];  // of a field that is something everywhere, a factor for each direction
};

// The source and the receivers, after a row has its values of the step. Rows of other ranks are not recorded.
inline void after_row(const Problem& p, const State& s, int step, std::int64_t z, std::int64_t y) {
    float* row = p.before(step) + p.at(z, y);
    if (z == p.source_z && y == p.source_y) {
        row[p.source_x] += p.c[p.at(z, y) + p.source_x] * s.wavelet[static_cast<std::size_t>(step)];
    }
    if (z == p.receiver_z && y == p.receiver_y && z >= p.begin && z < p.end) {
        memcpy(p.traces + std::int64_t{step} * p.nx, row, static_cast<std::size_t>(p.nx) * sizeof(float));
    }
}

// Gives each neighbour `depth` planes of this rank's, and takes as many of theirs.
template <typename Float>
void exchange(nw_run* run, const Problem& p, Float* field, std::int64_t ghost, std::int64_t plane, std::int64_t depth) {
    if (p.active < 2 || run->rank >= p.active || depth == 0) {
        return;
    }
    const int below = run->rank > 0 ? run->rank - 1 : NW_NOBODY;
    const int above = run->rank + 1 < p.active ? run->rank + 1 : NW_NOBODY;
    const std::int64_t planes = p.end - p.begin;
    const auto bytes = static_cast<std::size_t>(depth * plane) * sizeof(Float);
    Float* first = field + ghost * plane;
    Float* last = first + planes * plane;
    run->exchange(run, last - depth * plane, bytes, above, first - depth * plane, bytes, below);
    run->exchange(run, first, bytes, below, last, bytes, above);
}

// The rank that has the receivers gives all what they recorded.
void share_traces(nw_run* run, const Problem& p);

}  // namespace wave
