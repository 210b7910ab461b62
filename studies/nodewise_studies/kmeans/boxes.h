// SPDX-License-Identifier: BSD-3-Clause
// Points in an order that keeps neighbours together, cut into leaves with the box around each, and these into larger
// ones; what the variant `boxes` works on.
#pragma once

#include <cstdint>

#include "study.h"

namespace kmeans {

constexpr std::int64_t kLeafPoints = 64;
constexpr std::int64_t kFan = 16;  // boxes in one of the next level
constexpr int kLevels = 3;
constexpr int kLanes = 16;      // the widest vector that is used
constexpr int kSumTables = 4;   // a thread's, in turn: a sum does not wait for the one before
constexpr int kDigitBits = 12;  // of the key that points are sorted by, in two passes
constexpr int kDigits = 1 << kDigitBits;

// Centres that may be the nearest for some point of a box, in the order of their indexes: coordinate a of the i-th is
// planes[a * room + i]. Behind the last there are infinitely far ones.
struct List {
    float* planes = nullptr;
    std::int32_t* indexes = nullptr;
    int count = 0;
    int room = 0;
};

// The corners of boxes: box b is from low[b * dims + a] to high[b * dims + a].
struct Level {
    float* low = nullptr;
    float* high = nullptr;
    std::int64_t count = 0;
};

struct Boxes {
    std::int64_t stride = 0;         // points, with copies of the last behind them
    float* planes = nullptr;         // the points, sorted
    float* rows = nullptr;           // the same as rows of sums: coordinates on the grid, 1, and 0 up to a whole vector
    std::int32_t* order = nullptr;   // which point each was
    std::uint64_t* keys[2] = {};     // to sort by: a key and the point's index
    std::int64_t* counts = nullptr;  // of each thread, by digit
    Level levels[kLevels];           // leaves first
    List all;                        // every centre
    List* lists = nullptr;           // of each thread, by level
    float* lower = nullptr;          // of each thread: a bound for each centre of a list
};

// Sorts the points and finds the boxes.
void make_boxes(const nw_run* run, Boxes& boxes);

}  // namespace kmeans
