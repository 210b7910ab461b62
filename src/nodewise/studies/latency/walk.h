// SPDX-License-Identifier: BSD-3-Clause
// A walk: lines of memory in a random order, each of which holds the place of the next one.
#pragma once

#include <cstdint>

#include "abi/kernel.h"

namespace latency {

// 64-bit numbers in a cache line.
constexpr std::int64_t kLine = 8;

struct Walk {
    std::int64_t* order;  // the lines as they are visited
    std::int64_t* chain;  // at the first number of each line the first of the next one
    std::int64_t* ends;   // where each thread stands at last
    std::int64_t* end;    // the first thread's, which does not depend on their number
    std::int64_t lines;
    std::int64_t steps;
};

Walk walk_of(const nw_run* run);
// Where in the order a thread begins: far from the others.
std::int64_t start_of(const nw_run* run, const Walk& walk, int thread);

}  // namespace latency
