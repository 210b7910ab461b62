// SPDX-License-Identifier: BSD-3-Clause
// What decides between ways on this processor: short trials before the first run. Included once per instruction set.
#if defined(MASKMATH_TRIALS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MASKMATH_TRIALS_INL_H_
#undef MASKMATH_TRIALS_INL_H_
#else
#define MASKMATH_TRIALS_INL_H_
#endif

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "trials.h"
#include "ways-inl.h"

HWY_BEFORE_NAMESPACE();
namespace maskmath {
namespace HWY_NAMESPACE {
namespace {

template <class Work>
double seconds_of(Work work) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Seconds that a square root of a vector takes, the best of some trials in the nearest cache.
template <int kKernel>
double root_s(double* at, std::int64_t count) {
    constexpr int kTrials = 7;
    constexpr int kRounds = 16;
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    double best = std::numeric_limits<double>::infinity();
    for (int trial = 0; trial < kTrials; ++trial) {
        std::fill(at, at + count, 2.0);
        best = std::min(best, seconds_of([&] {
                            for (int round = 0; round < kRounds; ++round) {
                                for (std::int64_t k = 0; k < count; k += lanes) {
                                    hn::Store(value<kKernel>(d, hn::Load(d, at + k)), d, at + k);
                                }
                            }
                        }));
    }
    return best * static_cast<double>(lanes) / static_cast<double>(kRounds * count);
}

void root_times(State* state) {
    constexpr std::int64_t kCount = 512;
    HWY_ALIGN double at[kCount];
    state->root_own_s = root_s<kSqrt>(at, kCount);
    state->root_steps_s = root_s<kSqrtBySteps>(at, kCount);
}

// The best of some trials of each way, in the order of `kPercents`.
template <int kKernel>
void times_of(const Trial& trial, Times* times) {
    constexpr int kTrials = 5;
    const Part part{trial.x, trial.kept, trial.mask, trial.y, kTried, trial.state, false};
    for (std::size_t level = 0; level < kLevels; ++level) {
        Times best{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::infinity()};
        for (int t = 0; t < kTrials; ++t) {
            // another mask each time, so that no branch is learnt
            choose_some(trial.mask, kPercents[level], level * kTrials + static_cast<std::size_t>(t));
            best.all = std::min(best.all, seconds_of([&] { groups<kKernel, Native, false>(&part, 0, kTried); }));
            best.together =
                std::min(best.together, seconds_of([&] {
                             for (std::int64_t i = 0; i < kTried; i += kBatch) {
                                 compressed<kKernel, false>(part.mask + i, part.x + i, part.kept + i, part.y + i);
                             }
                         }));
            best.places =
                std::min(best.places, seconds_of([&] {
                             for (std::int64_t i = 0; i < kTried; i += kBatch) {
                                 by_places<kKernel, false>(look(part.mask + i), part.x + i, part.kept + i, part.y + i);
                             }
                         }));
        }
        times[level] = best;
    }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace maskmath
HWY_AFTER_NAMESPACE();
#endif
