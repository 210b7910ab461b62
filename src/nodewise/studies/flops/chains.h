// SPDX-License-Identifier: BSD-3-Clause
// Chains of fused multiply-adds: every chain counts up from its start in steps of one, by end = end · 1 + 1.
#pragma once

#include <cstdint>

#include "abi/kernel.h"

namespace flops {

struct Chains {
    const double* start;
    double* end;
    std::int64_t count;
    std::int64_t steps;
};

// Both are 1. They are read when the program runs, so that no compiler can reduce a chain to one addition.
extern volatile double factor;
extern volatile double addend;

Chains chains_of(const nw_run* run);

int f64(nw_run* run);
int f32(nw_run* run);
int plain(nw_run* run);

}  // namespace flops
