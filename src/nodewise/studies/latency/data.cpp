// SPDX-License-Identifier: BSD-3-Clause
// The lines in a random order that is one circle, and where each thread has to stand at the end.
#include <algorithm>
#include <utility>

#include "study.h"
#include "walk.h"

namespace latency {

Walk walk_of(const nw_run* run) {
    return {static_cast<std::int64_t*>(nw_data(run, "order")),
            static_cast<std::int64_t*>(nw_data(run, "chain")),
            static_cast<std::int64_t*>(nw_data(run, "ends")),
            static_cast<std::int64_t*>(nw_data(run, "end")),
            std::max<std::int64_t>(1, static_cast<std::int64_t>(nw_number(run, "kib", 1)) * 1024 / (kLine * 8)),
            static_cast<std::int64_t>(nw_number(run, "steps", 1))};
}

std::int64_t start_of(const nw_run* run, const Walk& walk, int thread) { return walk.lines * thread / run->threads; }

int layout(nw_run* run) {
    const auto lines = static_cast<std::uint64_t>(walk_of(run).lines);
    nw_declare(run, "order", NW_I64, NW_INPUT, lines);
    nw_declare(run, "chain", NW_I64, NW_SCRATCH, lines * kLine);
    nw_declare(run, "ends", NW_I64, NW_SCRATCH, static_cast<std::uint64_t>(run->threads));
    nw_declare(run, "end", NW_I64, NW_OUTPUT, 1);
    return 0;
}

int fill(nw_run* run) {
    const Walk walk = walk_of(run);
    for (std::int64_t i = 0; i < walk.lines; ++i) {
        walk.order[i] = i;
    }
    const std::uint64_t base = nw_mix(run->seed);
    for (std::int64_t i = walk.lines - 1; i > 0; --i) {
        const auto other = nw_mix(base + static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(i + 1);
        std::swap(walk.order[i], walk.order[other]);
    }
    for (std::int64_t i = 0; i < walk.lines; ++i) {
        walk.chain[walk.order[i] * kLine] = walk.order[i + 1 < walk.lines ? i + 1 : 0] * kLine;
    }
    return 0;
}

int reset(nw_run* run) {
    const Walk walk = walk_of(run);
    std::fill_n(walk.ends, run->threads, std::int64_t{-1});
    *walk.end = -1;
    return 0;
}

int check(nw_run* run) {
    const Walk walk = walk_of(run);
    for (int t = 0; t < run->threads; ++t) {
        const std::int64_t wanted = walk.order[(start_of(run, walk, t) + walk.steps) % walk.lines];
        if (walk.ends[t] != wanted) {
            return nw_fail(run, "thread %d stands at line %lld in place of %lld", t,
                           static_cast<long long>(walk.ends[t]), static_cast<long long>(wanted));
        }
    }
    return *walk.end == walk.ends[0] ? 0 : nw_fail(run, "the end is not that of the first thread");
}

// A load of a line each.
void work(const nw_run* run, nw_work* out) {
    const double loads = static_cast<double>(walk_of(run).steps) * run->threads;
    *out = {loads, 0, loads * kLine * 8, 0};
}

}  // namespace latency
