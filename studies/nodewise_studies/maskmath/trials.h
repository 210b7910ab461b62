// SPDX-License-Identifier: BSD-3-Clause
// Short trials of the ways to do a batch, on which `best` bases its choice.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "study.h"

namespace maskmath {

// So many of 100 elements are chosen, at random.
constexpr double kPercents[] = {1, 2, 4, 6, 9, 13, 18, 24, 30, 37, 44, 52, 60, 68, 76, 84, 92};
constexpr size_t kLevels = sizeof kPercents / sizeof *kPercents;

// Elements of a trial: they fit the second cache.
constexpr int64_t kTried = 8192;

struct Trial {
    double* x;
    double* kept;
    uint8_t* mask;
    double* y;
    const State* state;
};

// Seconds of computing all, the chosen ones together, and one by one by their places.
struct Times {
    double all, together, places;
};

// Fills the trial's mask; each `number` gives another one.
void choose_some(uint8_t* mask, double percent, size_t number);

// Times at each of `kPercents`, by the instructions that the processor has.
void way_times(const Trial& trial, Times* times);

}  // namespace maskmath
