// SPDX-License-Identifier: BSD-3-Clause
// The benchmark's own OpenMP algorithm, plainly: each thread counts its share of the keys by bucket, the keys are
// scattered so that those of a bucket lie together, and the buckets are ranked in parallel, each in a range of ranks
// that is its own and small enough for the nearest cache.
#include <omp.h>

#include <algorithm>

#include "sort.h"

namespace is {
namespace {

int shift_for(std::int32_t max_key, int buckets) {
    int shift = 0;
    while ((std::int64_t{buckets} << shift) < max_key) {
        ++shift;
    }
    return shift;
}

// Where this thread's keys of each bucket go: after all smaller buckets, and after the same bucket's keys of the
// threads before it.
void find_starts(const State& own, int thread, int threads, std::vector<std::int64_t>& starts) {
    std::int64_t at = 0;
    for (int b = 0; b < own.buckets; ++b) {
        const auto bucket = static_cast<std::size_t>(b);
        std::int64_t before = 0;
        std::int64_t all = 0;
        for (int t = 0; t < threads; ++t) {
            const std::int64_t count = own.bucket_counts[static_cast<std::size_t>(t)][bucket];
            before += t < thread ? count : 0;
            all += count;
        }
        starts[bucket] = at + before;
        at += all;
    }
}

void rank_bucket(nw_run* run, int bucket, int shift, std::int64_t begin, std::int64_t end) {
    State& own = state(run);
    std::int32_t* rank = ranks(run);
    const std::int32_t* sorted = own.scattered;
    const std::int64_t low = std::int64_t{bucket} << shift;
    const std::int64_t high = std::min<std::int64_t>(own.max_key, low + (std::int64_t{1} << shift));
    for (std::int64_t k = low; k < high; ++k) {
        rank[k] = 0;
    }
    for (std::int64_t i = begin; i < end; ++i) {
        ++rank[sorted[i]];
    }
    auto up_to = static_cast<std::int32_t>(begin);
    for (std::int64_t k = low; k < high; ++k) {
        up_to += rank[k];
        rank[k] = up_to;
    }
}

void rank_all(nw_run* run) {
    State& own = state(run);
    const std::int32_t* all = keys(run);
    std::int32_t* scattered = own.scattered;
    const int shift = shift_for(own.max_key, own.buckets);
    std::vector<std::int64_t> ends(static_cast<std::size_t>(own.buckets));
#pragma omp parallel num_threads(run->threads)
    {
        const int thread = omp_get_thread_num();
        const int threads = omp_get_num_threads();
        std::vector<std::int64_t>& counts = own.bucket_counts[static_cast<std::size_t>(thread)];
        counts.assign(static_cast<std::size_t>(own.buckets), 0);
        std::int64_t* count = counts.data();
#pragma omp for schedule(static)
        for (std::int64_t i = 0; i < own.keys; ++i) {
            ++count[all[i] >> shift];
        }
        std::vector<std::int64_t> starts(static_cast<std::size_t>(own.buckets));
        find_starts(own, thread, threads, starts);
        std::int64_t* at = starts.data();
#pragma omp for schedule(static)
        for (std::int64_t i = 0; i < own.keys; ++i) {
            const std::int32_t key = all[i];
            scattered[at[key >> shift]++] = key;
        }
        // the last thread's keys of a bucket end where the bucket ends
        if (thread == threads - 1) {
            ends = starts;
        }
#pragma omp barrier
#pragma omp for schedule(dynamic)
        for (int b = 0; b < own.buckets; ++b) {
            if ((std::int64_t{b} << shift) < own.max_key) {
                rank_bucket(run, b, shift, b > 0 ? ends[static_cast<std::size_t>(b - 1)] : 0,
                            ends[static_cast<std::size_t>(b)]);
            }
        }
    }
}

}  // namespace

int prepare_bucketed(nw_run* run) {
    State& own = state(run);
    own.scattered = static_cast<std::int32_t*>(run->memory(run, static_cast<std::size_t>(own.keys) * 4, 0));
    own.bucket_counts.resize(static_cast<std::size_t>(run->threads));
    return own.scattered == nullptr ? 1 : 0;
}

int bucketed(nw_run* run) { return iterate(run, rank_all); }

}  // namespace is
