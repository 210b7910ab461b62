// SPDX-License-Identifier: BSD-3-Clause
// The check: masked-off elements kept to the bit, the others near the C library's, no exception that was not due; and
// how far off they are in units of the last place.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "study.h"

namespace maskmath {
namespace {

// 4 ulp are the widest promise of a contender, the C library's own error and the ulp's change within a power of two the
// rest.
constexpr double kRelative = 10 * 0x1p-52;
constexpr double kAbsolute = 5 * 0x1p-1074;
constexpr std::int64_t kSampled = 1 << 16;

template <typename T>
T value(Function function, T x) {
    switch (function) {
        case kExp:
            return std::exp(x);
        case kLog:
            return std::log(x);
        case kSin:
            return std::sin(x);
        case kCos:
            return std::cos(x);
        case kSqrt:
            return std::sqrt(x);
        default:
            return std::acosh(x);
    }
}

bool near(double got, double want) {
    return std::fabs(got - want) <= kRelative * std::fabs(want) + kAbsolute || got == want ||
           (std::isnan(got) && std::isnan(want));
}

double ulps_off(Function function, double got, double x) {
    const long double want = value(function, static_cast<long double>(x));
    if (std::isnan(want) || std::fabs(want) > std::numeric_limits<double>::max() || std::isinf(got) || want == 0) {
        return 0;
    }
    return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, std::max(std::ilogb(want), -1022) - 52));
}

}  // namespace

int check(nw_run* run) {
    const State& state = *static_cast<const State*>(run->own);
    const auto* x = static_cast<const double*>(run->buffers[0].data);
    const auto* kept = static_cast<const double*>(run->buffers[1].data);
    const auto* mask = static_cast<const std::uint8_t*>(run->buffers[2].data);
    const auto* y = static_cast<const double*>(run->buffers[3].data);
    const auto n = static_cast<std::int64_t>(run->buffers[0].count);
    std::int64_t wrong = n;
#pragma omp parallel for schedule(static) num_threads(run->threads) reduction(min : wrong)
    for (std::int64_t i = 0; i < n; ++i) {
        const bool right = mask[i] != 0 ? near(y[i], value(state.function, x[i]))
                                        : std::bit_cast<std::uint64_t>(y[i]) == std::bit_cast<std::uint64_t>(kept[i]);
        if (!right) {
            wrong = std::min(wrong, i);
        }
    }
    if (wrong < n) {
        return nw_fail(run, "y[%lld] is %.17g, not %.17g; x is %.17g, the mask %d", static_cast<long long>(wrong),
                       y[wrong], mask[wrong] != 0 ? value(state.function, x[wrong]) : kept[wrong], x[wrong],
                       static_cast<int>(mask[wrong]));
    }
    if (state.promises && !state.edges && state.raised != 0) {
        return nw_fail(run, "masked-off elements raised the floating-point exceptions %#x", unsigned(state.raised));
    }
    const std::int64_t step = std::max<std::int64_t>(1, n / kSampled);
    double worst = 0;
#pragma omp parallel for schedule(static) num_threads(run->threads) reduction(max : worst)
    for (std::int64_t i = 0; i < n; i += step) {
        if (mask[i] != 0) {
            worst = std::max(worst, ulps_off(state.function, y[i], x[i]));
        }
    }
    nw_report(run, "ulp", worst);
    return 0;
}

}  // namespace maskmath
