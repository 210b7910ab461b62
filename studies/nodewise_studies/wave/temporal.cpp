// SPDX-License-Identifier: BSD-3-Clause
// Several steps while a part of the grid is in the cache: diamonds in y and time, of which those of a row depend on
// none of each other, and in each a wavefront along z (Malas, Hager, Ltaief, Stengel, Wellein, Keyes 2015, doi
// 10.1137/140991133).
#include <algorithm>

#include "flush.h"
#include "rows.h"
#include "study.h"

namespace wave {
namespace {

// Steps of half a diamond: as many as leave what the wavefront of one has in flight in a thread's part of the caches.
std::int64_t levels_of(const nw_run* run, const Problem& p) {
    if (const auto asked = static_cast<std::int64_t>(nw_number(run, "levels", 0)); asked > 0) {
        return asked;
    }
    // and no more than leave a diamond for each thread, nor than half of the steps
    const std::int64_t most = std::max<std::int64_t>(
        1, std::min<std::int64_t>(p.between / 2, p.ny / (std::int64_t{2} * p.radius * run->threads)));
    const auto bytes = [&](std::int64_t h) {
        // three arrays, the mean width of a diamond and what its rows reach, and so many planes in flight
        return 3.0 * sizeof(float) * static_cast<double>(p.row * (h + 2) * p.radius * (2 * h + 2) * p.radius);
    };
    std::int64_t levels = 1;
    while (levels < most && bytes(levels + 1) <= cache_of_thread()) {
        ++levels;
    }
    return levels;
}

// Steps that are made between two exchanges, counted from `first`, and how wide and high diamonds are.
struct Period {
    int first;
    std::int64_t steps;
    std::int64_t levels;  // of half a diamond
    std::int64_t reach;   // rows that half a diamond widens by

    [[nodiscard]] std::int64_t rows() const { return (steps - 1) / levels + 2; }
};

struct Range {
    std::int64_t begin, end;
};

// The planes of a step: of the neighbours' as many as its later steps need.
Range planes_of(const Problem& p, const Period& period, std::int64_t step) {
    const std::int64_t more = p.active > 1 ? p.radius * (period.steps - 1 - step) : 0;
    return {std::max<std::int64_t>(0, p.begin - more), std::min(p.nz, p.end + more)};
}

// The rows of a diamond in a step: it widens in its first half, and narrows in its second.
Range rows_of(const Problem& p, const Period& period, std::int64_t diamond_row, std::int64_t centre,
              std::int64_t step) {
    const std::int64_t since = step - diamond_row * period.levels;
    const std::int64_t half = since >= 0 ? period.reach - p.radius * since : p.radius * (since + period.levels);
    return {std::max<std::int64_t>(0, centre - half), std::min(p.ny, centre + half)};
}

void diamond(const Problem& p, const State& s, UpdateRows update, const Period& period, std::int64_t row,
             std::int64_t centre) {
    const std::int64_t first = std::max<std::int64_t>(0, (row - 1) * period.levels);
    const std::int64_t last = std::min(period.steps, (row + 1) * period.levels) - 1;
    // where the front of the first step is; each step follows the one before at the distance that it reaches
    std::int64_t front = planes_of(p, period, first).begin;
    std::int64_t stop = 0;
    for (std::int64_t step = first; step <= last; ++step) {
        const std::int64_t behind = (step - first) * p.radius;
        front = std::min(front, planes_of(p, period, step).begin + behind);
        stop = std::max(stop, planes_of(p, period, step).end + behind);
    }
    for (; front < stop; ++front) {
        for (std::int64_t step = first; step <= last; ++step) {
            const std::int64_t z = front - (step - first) * p.radius;
            const Range planes = planes_of(p, period, step);
            const Range rows = rows_of(p, period, row, centre, step);
            if (z >= planes.begin && z < planes.end && rows.begin < rows.end) {
                advance(p, s, update, period.first + static_cast<int>(step), z, rows.begin, rows.end);
            }
        }
    }
}

void make_period(nw_run* run, const Problem& p, const Period& period) {
    const State& s = state(run);
    const UpdateRows update = update_rows(p.radius);
    exchange(run, p, p.now(period.first), p.ghost, p.plane, p.radius * period.steps);
    exchange(run, p, p.before(period.first), p.ghost, p.plane, p.radius * (period.steps - 1));
    if (p.begin == p.end) {
        return;
    }
    const std::int64_t width = 2 * period.reach;
#pragma omp parallel num_threads(run->threads)
    {
        const Flush flush;
        for (std::int64_t row = 0; row < period.rows(); ++row) {
            const std::int64_t shift = row % 2 == 0 ? 0 : period.reach;
            const std::int64_t count = (p.ny + period.reach - shift + width - 1) / width;
#pragma omp for schedule(dynamic, 1)
            for (std::int64_t j = 0; j < count; ++j) {
                diamond(p, s, update, period, row, shift + j * width);
            }
        }
    }
}

}  // namespace

int temporal(nw_run* run) {
    const Problem p = problem(run);
    const std::int64_t levels = levels_of(run, p);
    for (int step = 0; step < p.steps; step += p.between) {
        make_period(run, p, {step, std::min<std::int64_t>(p.between, p.steps - step), levels, levels * p.radius});
    }
    share_traces(run, p);
    return 0;
}

}  // namespace wave
