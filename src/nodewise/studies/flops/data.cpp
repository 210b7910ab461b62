// SPDX-License-Identifier: BSD-3-Clause
// The chains' starts, and the check: all numbers are small multiples of a quarter, so every sum is exact in both types.
#include <cmath>
#include <limits>

#include "chains.h"
#include "study.h"

namespace flops {
namespace {}  // namespace

volatile double factor = 1.0;
volatile double addend = 1.0;

Chains chains_of(const nw_run* run) {
    return {static_cast<const double*>(nw_data(run, "start")), static_cast<double*>(nw_data(run, "end")),
            static_cast<std::int64_t>(nw_number(run, "chains", 1)),
            static_cast<std::int64_t>(nw_number(run, "steps", 1))};
}

int layout(nw_run* run) {
    const auto count = static_cast<std::uint64_t>(nw_number(run, "chains", 1));
    nw_declare(run, "start", NW_F64, NW_INPUT, count);
    nw_declare(run, "end", NW_F64, NW_OUTPUT, count);
    return 0;
}

int fill(nw_run* run) {
    const Chains all = chains_of(run);
    auto* start = static_cast<double*>(nw_data(run, "start"));
    const std::uint64_t base = nw_mix(run->seed);
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t i = 0; i < all.count; ++i) {
        start[i] = static_cast<double>(nw_mix(base + static_cast<std::uint64_t>(i)) >> 52U) / 4;
    }
    return 0;
}

int reset(nw_run* run) {
    const Chains all = chains_of(run);
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t i = 0; i < all.count; ++i) {
        all.end[i] = std::numeric_limits<double>::quiet_NaN();
    }
    return 0;
}

int check(nw_run* run) {
    const Chains all = chains_of(run);
    const auto grown = static_cast<double>(all.steps);
    std::int64_t wrong = 0;
#pragma omp parallel for schedule(static) num_threads(run->threads) reduction(+ : wrong)
    for (std::int64_t i = 0; i < all.count; ++i) {
        wrong += all.end[i] == all.start[i] + grown ? 0 : 1;
    }
    return wrong == 0 ? 0 : nw_fail(run, "%lld chains do not end at start + steps", static_cast<long long>(wrong));
}

// A fused multiply-add counts as two operations, as everywhere. What is loaded and stored at a chain's ends is not
// worth counting.
void work(const nw_run* run, nw_work* out) {
    const Chains all = chains_of(run);
    const double operations = 2.0 * static_cast<double>(all.count) * static_cast<double>(all.steps);
    *out = {operations, operations, 0, 0};
}

}  // namespace flops
