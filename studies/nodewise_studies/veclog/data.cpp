// SPDX-License-Identifier: BSD-3-Clause
// Inputs, check and work model.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "study.h"

namespace veclog {
namespace {

// A factor may be off by 4 ulp, the widest that a contender promises, in either logarithm; what the product and the
// comparison add is less than 4.
constexpr double kAllowed = 12 * 0x1p-52;
constexpr std::int64_t kSampled = 1 << 16;

// In [1, 2), as the published run over ranks had them.
double unit(std::uint64_t random) { return std::bit_cast<double>((random >> 12) | 0x3ff0000000000000); }

// In [-1, 1), as the other published runs drew them: half of the logarithms, and three quarters of the products, are
// NaN.
double signed_unit(std::uint64_t random) { return -1.0 + 2.0 * (unit(random) - 1.0); }

// Any positive number, each power of two as likely as any other, subnormal ones among them.
double wide(std::uint64_t random) {
    const std::uint64_t power = (random >> 52) % 2047;
    return std::bit_cast<double>((random & 0x000fffffffffffff) | (power << 52));
}

// Of all kinds: an eighth is 0, infinite, negative or not a number, and half is near 1, where a logarithm is small.
double special(std::uint64_t random) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kKinds[8] = {0.0,  -0.0,      kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(),
                                  -1.5, 0x1p-1074, 1.0};
    const std::uint64_t kind = nw_mix(random) % 16;
    if (kind < 2) {
        return kKinds[(random >> 8) % 8];
    }
    if (kind < 8) {
        return 1.0 + (unit(random) - 1.5) * std::ldexp(1.0, -static_cast<int>(random % 52));
    }
    return wide(random);
}

long double ulps_off(double got, double a, double b) {
    const long double want = std::log(static_cast<long double>(a)) * std::log(static_cast<long double>(b));
    if (!(std::fabs(want) >= 0x1p-1000L) || std::isinf(want)) {
        return 0;
    }
    return std::fabs(got - want) / std::ldexp(1.0L, std::ilogb(want) - 52);
}

bool near(double got, double want) {
    return std::fabs(got - want) <= kAllowed * std::fabs(want) || got == want || (std::isnan(got) && std::isnan(want));
}

// The first element of a rank's part.
std::uint64_t begin(const nw_run* run, int rank) {
    return nw_begin(static_cast<std::uint64_t>(nw_number(run, "n", 1)), rank, run->ranks);
}

}  // namespace

int layout(nw_run* run) {
    const std::uint64_t count = begin(run, run->rank + 1) - begin(run, run->rank);
    nw_declare(run, "a", NW_F64, NW_INPUT, count);
    nw_declare(run, "b", NW_F64, NW_INPUT, count);
    nw_declare(run, "c", NW_F64, NW_OUTPUT, count);
    return 0;
}

int fill(nw_run* run) {
    const char* kind = nw_text(run, "input");
    auto make = unit;
    if (kind != nullptr && std::strcmp(kind, "signed") == 0) {
        make = signed_unit;
    } else if (kind != nullptr && std::strcmp(kind, "wide") == 0) {
        make = wide;
    } else if (kind != nullptr && std::strcmp(kind, "special") == 0) {
        make = special;
    }
    auto* a = static_cast<double*>(run->buffers[0].data);
    auto* b = static_cast<double*>(run->buffers[1].data);
    const std::int64_t n = size(run);
    const std::uint64_t start = nw_mix(run->seed) + 2 * begin(run, run->rank);
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t i = 0; i < n; ++i) {
        const auto at = start + 2 * static_cast<std::uint64_t>(i);
        a[i] = make(nw_mix(at));
        b[i] = make(nw_mix(at + 1));
    }
    return 0;
}

int check(nw_run* run) {
    const std::int64_t n = size(run);
    const double* a = left(run);
    const double* b = right(run);
    const double* c = product(run);
    std::int64_t wrong = n;
#pragma omp parallel for schedule(static) num_threads(run->threads) reduction(min : wrong)
    for (std::int64_t i = 0; i < n; ++i) {
        if (!near(c[i], std::log(a[i]) * std::log(b[i]))) {
            wrong = std::min(wrong, i);
        }
    }
    if (wrong < n) {
        return nw_fail(run, "c[%lld] is %.17g: log(%.17g) log(%.17g) is %.17g", static_cast<long long>(wrong), c[wrong],
                       a[wrong], b[wrong], std::log(a[wrong]) * std::log(b[wrong]));
    }
    // how far off, more finely, on a sample
    const std::int64_t step = std::max<std::int64_t>(1, n / kSampled);
    double worst = 0;
#pragma omp parallel for schedule(static) num_threads(run->threads) reduction(max : worst)
    for (std::int64_t i = 0; i < n; i += step) {
        worst = std::max(worst, static_cast<double>(ulps_off(c[i], a[i], b[i])));
    }
    nw_report(run, "ulp", worst);
    return 0;
}

void work(const nw_run* run, nw_work* out) {
    const auto n = static_cast<double>(size(run));
    out->items = n;
    // 28 for each logarithm as `simd` computes it with AVX-512 (12 fused multiply-adds and 4 others), and the product
    out->flops = (2 * 28 + 1) * n;
    out->bytes_read = 16 * n;
    out->bytes_written = 8 * n;
}

}  // namespace veclog
