// SPDX-License-Identifier: BSD-3-Clause
// The integrals' bounds, and the check: the rule's value is known, as a plain sum for few intervals and for many from
// the integral itself.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "study.h"

namespace trapezoid {
namespace {

double f(double x) { return 4.0 / (1.0 + x * x); }

double slope(double x) { return -8.0 * x / ((1.0 + x * x) * (1.0 + x * x)); }

double primitive(double x) { return 4.0 * std::atan(x); }

// Up to so many intervals the rule is summed plainly; with more, what the expansion below leaves out is far below the
// rounding.
constexpr std::int64_t kFew = 1 << 16;

double plain_sum(const Integral& integral) {
    long double inside = 0;
    for (std::int64_t i = 1; i < integral.n; ++i) {
        inside += f(integral.a + static_cast<double>(i) * integral.h);
    }
    return static_cast<double>((inside + 0.5 * (f(integral.a) + f(integral.b))) * integral.h);
}

// Euler and Maclaurin: the rule gives the integral + h²/12 (f'(b) − f'(a)) − (b − a) h⁴/720 f''''(x) for an x in
// between, where |f''''| is 96 at most.
double expected(const Integral& integral) {
    if (integral.n <= kFew) {
        return plain_sum(integral);
    }
    return primitive(integral.b) - primitive(integral.a) +
           integral.h * integral.h / 12.0 * (slope(integral.b) - slope(integral.a));
}

// The most that rounding can do: each addition to the sum by half a unit of it, and to a running x as well, which moves
// the bounds, where f is up to 4 and |x| up to 2; a refined division has an error of 2^-45 at most.
double tolerance(const Integral& integral, double value) {
    const double additions = static_cast<double>(integral.n) + 16;
    const double left_out = integral.n <= kFew ? 0 : (integral.b - integral.a) * std::pow(integral.h, 4) * 96 / 720;
    return additions * 0x1p-53 * (value + 8) + 0x1p-45 * value + left_out;
}

}  // namespace

std::uint64_t integrals(const nw_run* run) { return static_cast<std::uint64_t>(nw_number(run, "integrals", 1)); }

Division division(const nw_run* run) {
    const char* how = nw_text(run, "division");
    return how != nullptr && strcmp(how, "instruction") == 0 ? Division::instruction : Division::refined;
}

Integral integral_at(const nw_run* run, std::uint64_t which) {
    const double a = static_cast<const double*>(nw_data(run, "from"))[which];
    const double b = static_cast<const double*>(nw_data(run, "to"))[which];
    const auto n = static_cast<std::int64_t>(nw_number(run, "intervals", 1));
    return {n, a, b, (b - a) / static_cast<double>(n)};
}

int layout(nw_run* run) {
    nw_declare(run, "from", NW_F64, NW_INPUT, integrals(run));
    nw_declare(run, "to", NW_F64, NW_INPUT, integrals(run));
    nw_declare(run, "integral", NW_F64, NW_OUTPUT, integrals(run));
    return 0;
}

int fill(nw_run* run) {
    auto* from = static_cast<double*>(nw_data(run, "from"));
    auto* to = static_cast<double*>(nw_data(run, "to"));
    const auto count = static_cast<std::int64_t>(integrals(run));
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t k = 0; k < count; ++k) {
        from[k] = -nw_uniform(nw_random(run->seed, static_cast<std::uint64_t>(2 * k)));
        to[k] = 1 + nw_uniform(nw_random(run->seed, static_cast<std::uint64_t>(2 * k + 1)));
    }
    return 0;
}

int check(nw_run* run) {
    const auto* given = static_cast<const double*>(nw_data(run, "integral"));
    const auto count = static_cast<std::int64_t>(integrals(run));
    double worst = 0;
    std::int64_t wrong = count;
#pragma omp parallel for schedule(static) num_threads(run->threads) reduction(max : worst) reduction(min : wrong)
    for (std::int64_t k = 0; k < count; ++k) {
        const Integral integral = integral_at(run, static_cast<std::uint64_t>(k));
        const double value = expected(integral);
        const double error = std::fabs(given[k] - value);
        // a NaN is not within any tolerance
        if (!(error <= tolerance(integral, value))) {
            wrong = std::min(wrong, k);
        }
        worst = std::max(worst, error / value);
    }
    nw_report(run, "relative_error", worst);
    if (wrong < count) {
        const Integral integral = integral_at(run, static_cast<std::uint64_t>(wrong));
        return nw_fail(run, "integral %lld is %.17g, expected is %.17g", static_cast<long long>(wrong), given[wrong],
                       expected(integral));
    }
    return 0;
}

}  // namespace trapezoid
