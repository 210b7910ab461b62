// SPDX-License-Identifier: BSD-3-Clause
// The variants: each gives every integral of the run. The published ones use one thread, whatever the run has.
#include <omp.h>

#include <cstdint>

#include "study.h"

namespace trapezoid {
namespace {

double* results(nw_run* run) { return static_cast<double*>(nw_data(run, "integral")); }

double f(double x) { return 4.0 / (1.0 + x * x); }

// The ends count half: the rule from the sum over all points between them.
double with_ends(const Integral& integral, double inside) {
    return (inside + 0.5 * (f(integral.a) + f(integral.b))) * integral.h;
}

template <typename Rule>
int each(nw_run* run, const Rule& rule) {
    for (std::uint64_t k = 0; k < integrals(run); ++k) {
        results(run)[k] = rule(integral_at(run, k));
    }
    return 0;
}

// A sum a thread, each in a cache line of its own.
constexpr std::uint64_t kApart = 8;

// `sum` of the points between the ends, in as many parts as threads; the parts are added in their order.
template <typename Sum>
int in_parts(nw_run* run, const Sum& sum) {
    auto* parts = static_cast<double*>(run->own);
    for (std::uint64_t k = 0; k < integrals(run); ++k) {
        const Integral integral = integral_at(run, k);
        const std::int64_t inside = integral.n - 1;
        int team = 1;
#pragma omp parallel num_threads(run->threads)
        {
            const int threads = omp_get_num_threads();
            const int thread = omp_get_thread_num();
            if (thread == 0) {
                team = threads;
            }
            parts[static_cast<std::uint64_t>(thread) * kApart] =
                sum(integral, 1 + inside * thread / threads, 1 + inside * (thread + 1) / threads);
        }
        double all = 0;
        for (int t = 0; t < team; ++t) {
            all += parts[static_cast<std::uint64_t>(t) * kApart];
        }
        results(run)[k] = with_ends(integral, all);
    }
    return 0;
}

}  // namespace

int original(nw_run* run) { return each(run, original_rule); }

int second(nw_run* run) { return each(run, second_rule); }

int third(nw_run* run) {
    const Division how = division(run);
    return each(run, [how](const Integral& integral) { return intervals_sum(integral, 0, integral.n, how); });
}

int fourth(nw_run* run) {
    const Division how = division(run);
    return each(
        run, [how](const Integral& integral) { return with_ends(integral, points_sum(integral, 1, integral.n, how)); });
}

int threaded(nw_run* run) {
    const Division how = division(run);
    return in_parts(run, [how](const Integral& integral, std::int64_t begin, std::int64_t end) {
        return points_sum(integral, begin, end, how);
    });
}

int quads(nw_run* run) { return in_parts(run, quads_sum); }

int prepare_parts(nw_run* run) {
    run->own = run->memory(run, static_cast<std::size_t>(run->threads) * kApart * sizeof(double), 0);
    return run->own == nullptr ? 1 : 0;
}

}  // namespace trapezoid
