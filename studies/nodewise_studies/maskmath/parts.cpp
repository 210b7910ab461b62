// SPDX-License-Identifier: BSD-3-Clause
// The threads' parts of the arrays, the repetitions, and the floating-point exceptions, which each thread has its own
// of.
#include <omp.h>

#include <algorithm>
#include <cfenv>
#include <cstdint>

#include "study.h"

namespace maskmath {
namespace {

// Where masked-off elements become 0 those are read that stand here: they stay in the nearest cache, as a register
// would.
constexpr std::int64_t kZeros = 1024;
alignas(64) constexpr double kZero[kZeros] = {};

void with_zeros(const Part& whole, void (*variant)(const Part*)) {
    for (std::int64_t at = 0; at < whole.count; at += kZeros) {
        const Part part{whole.x + at, kZero,       whole.mask + at, whole.y + at, std::min(kZeros, whole.count - at),
                        whole.state,  whole.stream};
        variant(&part);
    }
}

}  // namespace

int in_parts(nw_run* run, void (*variant)(const Part*), bool promises) {
    auto& state = *static_cast<State*>(run->own);
    const auto* x = static_cast<const double*>(run->buffers[0].data);
    const auto* kept = static_cast<const double*>(run->buffers[1].data);
    const auto* mask = static_cast<const std::uint8_t*>(run->buffers[2].data);
    auto* y = static_cast<double*>(run->buffers[3].data);
    const auto n = static_cast<std::int64_t>(run->buffers[0].count);
    constexpr int kWatched = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW;
    constexpr std::uint64_t kBytes = 25;
    const bool stream = nw_exceeds_cache(kBytes * run->buffers[0].count) != 0;
    int raised = 0;
#pragma omp parallel num_threads(run->threads) reduction(| : raised)
    {
        // whole cache lines of each array to each thread
        constexpr std::int64_t kLine = 64;
        const std::int64_t lines = (n + kLine - 1) / kLine;
        const int thread = omp_get_thread_num();
        const int threads = omp_get_num_threads();
        const std::int64_t begin = std::min(n, lines * thread / threads * kLine);
        const std::int64_t end = std::min(n, lines * (thread + 1) / threads * kLine);
        const Part part{x + begin, kept + begin, mask + begin, y + begin, end - begin, &state, stream};
        std::feclearexcept(FE_ALL_EXCEPT);
        for (std::int64_t r = 0; r < state.repeats; ++r) {
            if (state.zero) {
                with_zeros(part, variant);
            } else {
                variant(&part);
            }
        }
        raised |= std::fetestexcept(kWatched);
    }
    state.raised = raised;
    state.promises = promises;
    if (promises && state.root_own_s > 0) {
        nw_report(run, "sqrt_own_ns", 1e9 * state.root_own_s);
        nw_report(run, "sqrt_by_steps_ns", 1e9 * state.root_steps_s);
    }
    if (state.has_chosen) {
        nw_report(run, "most_one_by_one_percent", state.most_places);
        nw_report(run, "most_together_percent", state.most_together);
    }
    nw_report(run, "invalid", (raised & FE_INVALID) != 0 ? 1 : 0);
    nw_report(run, "divided_by_zero", (raised & FE_DIVBYZERO) != 0 ? 1 : 0);
    nw_report(run, "overflow", (raised & FE_OVERFLOW) != 0 ? 1 : 0);
    nw_report(run, "underflow", (raised & FE_UNDERFLOW) != 0 ? 1 : 0);
    return 0;
}

}  // namespace maskmath
