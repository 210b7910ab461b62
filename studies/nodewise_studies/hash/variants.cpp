// SPDX-License-Identifier: BSD-3-Clause
// The variants that differ in their engines only: each thread hashes its share of the buffers.
#include <algorithm>
#include <numeric>

#include "study.h"

namespace hash {
namespace {

int prepare(nw_run* run, const std::vector<Engine>& engines) {
    share(run);
    state(run).plan = std::make_unique<Plan>(make_plan(state(run).function, engines));
    return 0;
}

}  // namespace

void share(nw_run* run) {
    State& own = state(run);
    const auto threads = static_cast<std::size_t>(run->threads);
    std::vector<Job> all;
    all.reserve(own.lengths.size());
    for (std::size_t i = 0; i < own.lengths.size(); ++i) {
        all.push_back(job(run, i));
    }
    std::sort(all.begin(), all.end(),
              [](const Job& a, const Job& b) { return a.size != b.size ? a.size > b.size : a.digest < b.digest; });
    own.shares.assign(threads, {});
    for (std::size_t i = 0; i < all.size(); ++i) {
        own.shares[i % threads].push_back(all[i]);
    }
}

int prepare_stream(nw_run* run) { return prepare(run, plain_engines(state(run).function)); }

int prepare_instructions(nw_run* run) {
    const Function function = state(run).function;
    const std::vector<Engine> engines = instruction_engines(function);
    return prepare(run, engines.empty() ? plain_engines(function) : engines);
}

int prepare_lanes(nw_run* run) { return prepare(run, lane_engines(state(run).function)); }

int prepare_best(nw_run* run) { return prepare(run, all_engines(state(run).function)); }

int hash_all(nw_run* run) {
    const State& own = state(run);
#pragma omp parallel for schedule(static, 1) num_threads(run->threads)
    for (int t = 0; t < run->threads; ++t) {
        const std::vector<Job>& share = own.shares[static_cast<std::size_t>(t)];
        hash_jobs(*own.plan, share.data(), share.size());
    }
    return 0;
}

}  // namespace hash
