// SPDX-License-Identifier: BSD-3-Clause
// What the result has to be: the same equations in double precision, point by point, computed once for a process.
#include <algorithm>
#include <cmath>
#include <limits>

#include "problem.h"
#include "study.h"

namespace wave {
namespace {

// The slab with as many planes, rows and points around as the derivative reaches.
struct Padded {
    std::int64_t radius, row, plane;
    explicit Padded(const Problem& p) : radius(p.radius), row(p.nx + 2 * radius), plane(row * (p.ny + 2 * radius)) {}
    [[nodiscard]] std::int64_t at(std::int64_t local_z, std::int64_t y, std::int64_t x) const {
        return (local_z + radius) * plane + (y + radius) * row + radius + x;
    }
};

using NextRow = void (*)(const Padded& in, const double* weight, const double* now, double* before, const float* c,
                         const double* kept, std::int64_t count);

template <int kRadius>
void next_row(const Padded& in, const double* weight, const double* __restrict now, double* __restrict before,
              const float* __restrict c, const double* __restrict kept, std::int64_t count) {
    for (std::int64_t x = 0; x < count; ++x) {
        double laplacian = 3 * weight[0] * now[x];
        for (int k = 1; k <= kRadius; ++k) {
            laplacian += weight[k] * (now[x - k] + now[x + k] + now[x - k * in.row] + now[x + k * in.row] +
                                      now[x - k * in.plane] + now[x + k * in.plane]);
        }
        before[x] = now[x] + kept[x] * (now[x] - before[x]) + static_cast<double>(c[x]) * laplacian;
    }
}

constexpr NextRow kNextRows[] = {next_row<1>, next_row<2>, next_row<3>, next_row<4>,
                                 next_row<5>, next_row<6>, next_row<7>, next_row<8>};

void compute(nw_run* run, const Problem& p, State& s) {
    const Padded in(p);
    const std::int64_t planes = p.end - p.begin;
    const auto count = planes > 0 ? static_cast<std::size_t>((planes + 2 * in.radius) * in.plane) : 0;
    s.due_even.assign(count, 0);
    s.due_odd.assign(count, 0);
    s.due_traces.assign(static_cast<std::size_t>(p.steps * p.nx), 0);
    double weight[kMostRadius + 1];
    derivative_weights(p.radius, weight);
    const auto sponge = static_cast<std::int64_t>(nw_number(run, "sponge", 0));
    const Start start(run, p);
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t z = 0; z < planes; ++z) {
        for (std::int64_t y = 0; y < p.ny; ++y) {
            for (std::int64_t x = 0; x < p.nx; ++x) {
                s.due_even[static_cast<std::size_t>(in.at(z, y, x))] = start.value(p.begin + z, y, x, false);
                s.due_odd[static_cast<std::size_t>(in.at(z, y, x))] = start.value(p.begin + z, y, x, true);
            }
        }
    }
    std::vector<double> kept_x(static_cast<std::size_t>(p.nx));
    for (std::int64_t x = 0; x < p.nx; ++x) {
        kept_x[static_cast<std::size_t>(x)] = keep(x, p.nx, sponge);
    }
    for (int step = 0; step < p.steps; ++step) {
        double* now = (step % 2 == 0 ? s.due_even : s.due_odd).data();
        double* before = (step % 2 == 0 ? s.due_odd : s.due_even).data();
        exchange(run, p, now, p.radius, in.plane, p.radius);
#pragma omp parallel num_threads(run->threads)
        {
            std::vector<double> kept(kept_x);
#pragma omp for schedule(static)
            for (std::int64_t z = 0; z < planes; ++z) {
                for (std::int64_t y = 0; y < p.ny; ++y) {
                    const double both = keep(p.begin + z, p.nz, sponge) * keep(y, p.ny, sponge);
                    for (std::size_t x = 0; x < kept.size(); ++x) {
                        kept[x] = both * kept_x[x];
                    }
                    kNextRows[p.radius - 1](in, weight, now + in.at(z, y, 0), before + in.at(z, y, 0),
                                            p.c + p.at(p.begin + z, y), kept.data(), p.nx);
                }
            }
        }
        if (p.source_z >= p.begin && p.source_z < p.end) {
            before[in.at(p.source_z - p.begin, p.source_y, p.source_x)] +=
                static_cast<double>(p.c[p.at(p.source_z, p.source_y) + p.source_x]) *
                static_cast<double>(s.wavelet[static_cast<std::size_t>(step)]);
        }
        if (p.receiver_z >= p.begin && p.receiver_z < p.end) {
            std::copy_n(before + in.at(p.receiver_z - p.begin, p.receiver_y, 0), p.nx,
                        s.due_traces.data() + std::int64_t{step} * p.nx);
        }
    }
    run->sum(run, s.due_traces.data(), s.due_traces.size());
}

// The first element of this rank's own planes that is not within what is allowed, or not 0 outside the grid; or -1.
std::int64_t first_wrong(const nw_run* run, const Problem& p, const float* field, const std::vector<double>& due,
                         double allowed) {
    const Padded in(p);
    const std::int64_t none = std::numeric_limits<std::int64_t>::max();
    std::int64_t first = none;
    // of a grid's first and last planes those beyond it, too
    const std::int64_t from = p.begin == 0 ? -p.ghost : p.begin;
    const std::int64_t to = p.end == p.nz ? p.end + p.ghost : p.end;
#pragma omp parallel for schedule(static) num_threads(run->threads) reduction(min : first)
    for (std::int64_t z = from; z < to; ++z) {
        const std::int64_t base = (z - p.begin + p.ghost) * p.plane;
        const std::int64_t behind = z + 1 == p.end + p.ghost ? kLine : 0;
        for (std::int64_t i = 0; i < p.plane + behind; ++i) {
            const std::int64_t y = i / p.row - p.radius;
            const std::int64_t x = i % p.row - kLine;
            const bool inside = z >= 0 && z < p.nz && y >= 0 && y < p.ny && x >= 0 && x < p.nx;
            const double want = inside ? due[static_cast<std::size_t>(in.at(z - p.begin, y, x))] : 0;
            if (!(std::fabs(static_cast<double>(field[base + i]) - want) <= (inside ? allowed : 0))) {
                first = std::min(first, base + i);
            }
        }
    }
    return first == none ? -1 : first;
}

int wrong(nw_run* run, const Problem& p, const char* name, std::int64_t at) {
    return nw_fail(run, "the field at %s steps is wrong at z=%lld, y=%lld, x=%lld", name,
                   static_cast<long long>(at / p.plane) - p.ghost + p.begin,
                   static_cast<long long>(at % p.plane / p.row - p.radius), static_cast<long long>(at % p.row - kLine));
}

}  // namespace

int check(nw_run* run) {
    const Problem p = problem(run);
    State& s = state(run);
    if (s.due_traces.empty()) {
        compute(run, p, s);
    }
    double largest = std::numeric_limits<float>::min();
    for (const auto* all : {&s.due_even, &s.due_odd, &s.due_traces}) {
        const double* due = all->data();
        const auto count = static_cast<std::int64_t>(all->size());
#pragma omp parallel for schedule(static) num_threads(run->threads) reduction(max : largest)
        for (std::int64_t i = 0; i < count; ++i) {
            largest = std::max(largest, std::fabs(due[i]));
        }
    }
    run->largest(run, &largest, 1);
    // an error of a step goes on, and grows as those of all steps add up
    const double allowed = 4 * std::numeric_limits<float>::epsilon() * std::pow(p.steps + 3, 1.5) * largest;
    if (p.end > p.begin) {
        if (const std::int64_t at = first_wrong(run, p, p.even, s.due_even, allowed); at >= 0) {
            return wrong(run, p, "even", at);
        }
        if (const std::int64_t at = first_wrong(run, p, p.odd, s.due_odd, allowed); at >= 0) {
            return wrong(run, p, "odd", at);
        }
    }
    for (std::size_t i = 0; i < s.due_traces.size(); ++i) {
        if (!(std::fabs(static_cast<double>(p.traces[i]) - s.due_traces[i]) <= allowed)) {
            return nw_fail(run, "receiver %lld recorded %g in step %lld, not %g",
                           static_cast<long long>(i) % static_cast<long long>(p.nx), static_cast<double>(p.traces[i]),
                           static_cast<long long>(i) / static_cast<long long>(p.nx), s.due_traces[i]);
        }
    }
    return 0;
}

}  // namespace wave
