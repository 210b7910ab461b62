// SPDX-License-Identifier: BSD-3-Clause
// Ranking by counting: each thread counts its share of the keys into a table of its own, the tables are added and
// summed up. No key is moved. `counting` has counters of 32 bits; `narrow` has 8 or 16, so that for the larger classes
// the table stays in a nearer cache, and writes down the few keys whose counter runs over.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "sort.h"

namespace is {
namespace {

template <typename Counter>
Counter* table_of(State& own) {
    return static_cast<Counter*>(own.counters);
}

template <typename Counter>
constexpr bool kCanRunOver = sizeof(Counter) < sizeof(std::int32_t);

// The part of the key range that belongs to a thread, in whole cache lines of ranks.
std::int64_t share(std::int64_t max_key, int thread, int threads) {
    const std::int64_t lines = (max_key + 15) / 16;
    return std::min(max_key, lines * thread / threads * 16);
}

template <typename Counter>
void count_share(const std::int32_t* all, std::int64_t begin, std::int64_t end, Counter* counts,
                 std::vector<std::int32_t>& spilled) {
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int32_t key = all[i];
        const auto next = static_cast<Counter>(counts[key] + 1);
        counts[key] = next;
        if constexpr (kCanRunOver<Counter>) {
            if (__builtin_expect(static_cast<long>(next == 0), 0) != 0) {
                spilled.push_back(key);
            }
        }
    }
}

// Adds all threads' counters of a range into `rank`; one key that ran over stands for as many as a counter can count.
template <typename Counter>
void add_range(State& own, std::int64_t low, std::int64_t high, int threads, std::int32_t* rank) {
    const Counter* table = table_of<Counter>(own);
    for (std::int64_t k = low; k < high; ++k) {
        rank[k] = table[k];
    }
    for (int t = 1; t < threads; ++t) {
        const Counter* counts = table + std::int64_t{t} * own.max_key;
        for (std::int64_t k = low; k < high; ++k) {
            rank[k] += counts[k];
        }
    }
    if constexpr (kCanRunOver<Counter>) {
        constexpr std::int32_t kWhole = std::int32_t{std::numeric_limits<Counter>::max()} + 1;
        for (int t = 0; t < threads; ++t) {
            for (const std::int32_t key : own.spilled[static_cast<std::size_t>(t)]) {
                if (key >= low && key < high) {
                    rank[key] += kWhole;
                }
            }
        }
    }
}

template <typename Counter>
void rank_all(nw_run* run) {
    State& own = state(run);
    const std::int32_t* all = keys(run);
    std::int32_t* rank = ranks(run);
#pragma omp parallel num_threads(run->threads)
    {
        const int thread = omp_get_thread_num();
        const int threads = omp_get_num_threads();
        Counter* counts = table_of<Counter>(own) + std::int64_t{thread} * own.max_key;
        std::vector<std::int32_t>& spilled = own.spilled[static_cast<std::size_t>(thread)];
        std::memset(counts, 0, static_cast<std::size_t>(own.max_key) * sizeof(Counter));
        spilled.clear();
        count_share(all, own.keys * thread / threads, own.keys * (thread + 1) / threads, counts, spilled);
#pragma omp barrier
        const std::int64_t low = share(own.max_key, thread, threads);
        const std::int64_t high = share(own.max_key, thread + 1, threads);
        add_range<Counter>(own, low, high, threads, rank);
        std::int64_t total = 0;
        for (std::int64_t k = low; k < high; ++k) {
            total += rank[k];
        }
        own.totals[static_cast<std::size_t>(thread)] = total;
#pragma omp barrier
        std::int64_t up_to = 0;
        for (int t = 0; t < thread; ++t) {
            up_to += own.totals[static_cast<std::size_t>(t)];
        }
        auto sum = static_cast<std::int32_t>(up_to);
        for (std::int64_t k = low; k < high; ++k) {
            sum += rank[k];
            rank[k] = sum;
        }
    }
}

int prepare(nw_run* run, std::size_t counter_bytes, unsigned how) {
    State& own = state(run);
    const auto threads = static_cast<std::size_t>(run->threads);
    own.counters = run->memory(run, threads * static_cast<std::size_t>(own.max_key) * counter_bytes, how);
    own.spilled.resize(threads);
    own.totals.resize(threads);
    return own.counters == nullptr ? 1 : 0;
}

bool wide(const nw_run* run) { return nw_number(run, "counter", 8) == 16; }

}  // namespace

int prepare_counting(nw_run* run) { return prepare(run, sizeof(std::int32_t), 0); }

int counting(nw_run* run) { return iterate(run, rank_all<std::int32_t>); }

int prepare_narrow(nw_run* run) { return prepare(run, wide(run) ? sizeof(std::uint16_t) : 1, NW_HUGE); }

int narrow(nw_run* run) { return iterate(run, wide(run) ? rank_all<std::uint16_t> : rank_all<std::uint8_t>); }

}  // namespace is
