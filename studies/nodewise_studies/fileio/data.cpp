// SPDX-License-Identifier: BSD-3-Clause
// The array: doubles of all magnitudes, so that text has all their digits, and those at the ends of what there is.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "study.h"

namespace fileio {
namespace {

// Values that a format could lose: signed zero, the largest and smallest, and those below the normal ones.
constexpr double kEdges[] = {0.0,
                             -0.0,
                             std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::lowest(),
                             std::numeric_limits<double>::min(),
                             std::numeric_limits<double>::denorm_min(),
                             -std::numeric_limits<double>::denorm_min(),
                             0.1,
                             1.0 / 3,
                             9007199254740993.0};
constexpr std::int64_t kEdgeCount = sizeof kEdges / sizeof *kEdges;

}  // namespace

int fill(nw_run* run) {
    auto* data = static_cast<double*>(nw_data(run, "data"));
    const auto count = static_cast<std::int64_t>(run->buffers[0].count);
    const char* memory = nw_text(run, "memory");
    const bool repeats = memory != nullptr && std::strcmp(memory, "block") == 0;
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t at = 0; at < count; ++at) {
        const std::int64_t i = repeats ? at % kPeriod : at;
        const std::uint64_t bits = nw_random(run->seed, static_cast<std::uint64_t>(i));
        const double fraction = 2 * static_cast<double>(bits >> 11) * 0x1p-53 - 1;
        data[at] = i < kEdgeCount ? kEdges[i] : std::ldexp(fraction, static_cast<int>(bits & 31U) - 16);
    }
    return 0;
}

}  // namespace fileio
