// SPDX-License-Identifier: BSD-3-Clause
// What our own variants do on this processor, decided before the first run: thresholds are where measured times cross.
#include <algorithm>
#include <cmath>

#include "trials.h"

namespace maskmath {
namespace {

// Of 100 elements in groups that are not skipped, how many are chosen where `percent` of all are.
double chosen_of_computed(double percent) {
    constexpr double kGroup = 64;
    return percent / (1 - std::pow(1 - percent / 100, kGroup));
}

// Up to how many chosen of 100 the first way takes no longer than the second, which may be by chance at one level.
template <class First, class Second>
double crossing(const Times* times, First first, Second second) {
    double before = 0;
    double gain = 0;
    for (size_t i = 0; i < kLevels; ++i) {
        const double at = chosen_of_computed(kPercents[i]);
        const double excess = std::log(first(times[i]) / second(times[i]));
        const bool chance = i + 1 < kLevels && first(times[i + 1]) <= second(times[i + 1]);
        if (excess <= 0) {
            before = at;
            gain = -excess;
        } else if (!chance) {
            return before == 0 ? 0 : before + (at - before) * gain / (gain + excess);
        }
    }
    return 100;
}

}  // namespace

void choose_some(uint8_t* mask, double percent, size_t number) {
    for (int64_t i = 0; i < kTried; ++i) {
        mask[i] = nw_uniform(nw_random(number, static_cast<uint64_t>(i))) * 100 < percent ? 1 : 0;
    }
}

int choose_way(nw_run* run) {
    if (const int failed = choose_root(run); failed != 0) {
        return failed;
    }
    State& state = *static_cast<State*>(run->own);
    constexpr size_t kBytes = kTried * sizeof(double);
    auto* memory = static_cast<char*>(run->memory(run, 3 * kBytes + kTried, 0));
    if (memory == nullptr) {
        return 1;
    }
    const Trial trial{reinterpret_cast<double*>(memory), reinterpret_cast<double*>(memory + kBytes),
                      reinterpret_cast<uint8_t*>(memory + 3 * kBytes), reinterpret_cast<double*>(memory + 2 * kBytes),
                      &state};
    for (int64_t i = 0; i < kTried; ++i) {
        trial.x[i] = usual(state.function, nw_random(run->seed, static_cast<uint64_t>(i)));
        trial.kept[i] = 0;
    }
    Times times[kLevels];
    way_times(trial, times);
    state.most_places =
        crossing(times, [](const Times& t) { return t.places; }, [](const Times& t) { return t.together; });
    state.most_together = crossing(
        times, [](const Times& t) { return std::min(t.together, t.places); }, [](const Times& t) { return t.all; });
    state.has_chosen = true;
    return 0;
}

}  // namespace maskmath
