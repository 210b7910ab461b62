// SPDX-License-Identifier: BSD-3-Clause
// The loop over rows under each schedule. What a thread works, from the start of the loop until no row is left for it,
// is measured: the longest over the mean says how well the schedule shares the work out.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "study.h"

namespace schedule {
namespace {

using Clock = std::chrono::steady_clock;

// A thread's seconds lie in a cache line of their own.
constexpr std::int64_t kApart = 8;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double& busy(nw_run* run, std::int64_t thread) { return static_cast<double*>(run->own)[thread * kApart]; }

void tell_balance(nw_run* run, int threads) {
    double longest = 0;
    double sum = 0;
    for (int t = 0; t < threads; ++t) {
        longest = std::max(longest, busy(run, t));
        sum += busy(run, t);
    }
    nw_report(run, "imbalance", sum > 0 ? longest * threads / sum : 1);
}

// The loop that is asked about: OpenMP's, under the schedule that is set.
void rows_as_scheduled(nw_run* run) {
    const Product product = product_of(run);
    const RowLoop loop = row_loop(run);
    int team = 1;
#pragma omp parallel num_threads(run->threads)
    {
        const Clock::time_point begin = Clock::now();
#pragma omp for schedule(runtime) nowait
        for (std::int64_t i = 0; i < product.n; ++i) {
            loop(product, i);
        }
        busy(run, omp_get_thread_num()) = seconds_since(begin);
#pragma omp single nowait
        team = omp_get_num_threads();
    }
    tell_balance(run, team);
}

int chunk_of(const nw_run* run) { return static_cast<int>(nw_number(run, "chunk", 0)); }

// A chunk of 0 is the schedule's own choice.
int with(nw_run* run, omp_sched_t kind) {
    omp_set_schedule(kind, chunk_of(run));
    rows_as_scheduled(run);
    return 0;
}

}  // namespace

int with_static(nw_run* run) { return with(run, omp_sched_static); }

// By OpenMP 5 a dynamic schedule is nonmonotonic unless it says otherwise: a thread may be given an earlier row later.
int with_dynamic(nw_run* run) { return with(run, omp_sched_dynamic); }

int with_monotonic(nw_run* run) {
    const unsigned kind = static_cast<unsigned>(omp_sched_dynamic) | static_cast<unsigned>(omp_sched_monotonic);
    return with(run, static_cast<omp_sched_t>(kind));  // NOLINT: OpenMP's modifiers are bits added to its kinds
}

int with_guided(nw_run* run) { return with(run, omp_sched_guided); }

int with_auto(nw_run* run) { return with(run, omp_sched_auto); }

// As OMP_SCHEDULE says; a chunk of the knob's goes before its own.
int with_runtime(nw_run* run) {
    if (chunk_of(run) > 0) {
        omp_sched_t kind = omp_sched_static;
        int chunk = 0;
        omp_get_schedule(&kind, &chunk);
        omp_set_schedule(kind, chunk_of(run));
    }
    rows_as_scheduled(run);
    return 0;
}

// Rows as tasks of `chunk` rows; 0: as many tasks as the runtime makes. Whoever waits for tasks works on them, so busy
// is what the rows took, added up.
int with_taskloop(nw_run* run) {
    const Product product = product_of(run);
    const RowLoop loop = row_loop(run);
    const int rows = chunk_of(run);
    const auto count = static_cast<std::uint64_t>(product.n);
    const auto one_row = [&](std::uint64_t i) {
        const Clock::time_point begin = Clock::now();
        loop(product, static_cast<std::int64_t>(i));
        busy(run, omp_get_thread_num()) += seconds_since(begin);
    };
    int team = 1;
#pragma omp parallel num_threads(run->threads)
    {
        busy(run, omp_get_thread_num()) = 0;
#pragma omp barrier
#pragma omp single
        {
            team = omp_get_num_threads();
            if (rows > 0) {
#pragma omp taskloop grainsize(rows)
                for (std::uint64_t i = 0; i < count; ++i) {  // NOLINT: clang counts tasks in another type
                    one_row(i);
                }
            } else {
#pragma omp taskloop
                for (std::uint64_t i = 0; i < count; ++i) {  // NOLINT: clang counts tasks in another type
                    one_row(i);
                }
            }
        }
    }
    tell_balance(run, team);
    return 0;
}

// Where the costs are known beforehand: neighbouring rows to each thread, as many as make up its share of the work.
int by_work(nw_run* run) {
    const Product product = product_of(run);
    const RowLoop loop = row_loop(run);
    std::int64_t all = 0;
    for (std::int64_t i = 0; i < product.n; ++i) {
        all += product.lengths[i];
    }
    int team = 1;
#pragma omp parallel num_threads(run->threads)
    {
        const Clock::time_point begin = Clock::now();
        const std::int64_t threads = omp_get_num_threads();
        const std::int64_t thread = omp_get_thread_num();
        std::int64_t before = 0;
        for (std::int64_t i = 0; i < product.n; ++i) {
            // a row belongs to the thread in whose share the middle of its work lies
            const std::int64_t middle = before + product.lengths[i] / 2;
            if (std::min(threads - 1, middle * threads / all) == thread) {
                loop(product, i);
            }
            before += product.lengths[i];
        }
        busy(run, thread) = seconds_since(begin);
#pragma omp single nowait
        team = omp_get_num_threads();
    }
    tell_balance(run, team);
    return 0;
}

// What one writes without OpenMP: threads of the language, each with an equal part of the rows.
int std_thread(nw_run* run) {
    const Product product = product_of(run);
    const RowLoop loop = row_loop(run);
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(run->threads));
    for (std::int64_t t = 0; t < run->threads; ++t) {
        threads.emplace_back([=] {
            const Clock::time_point begin = Clock::now();
            for (std::int64_t i = product.n * t / run->threads; i < product.n * (t + 1) / run->threads; ++i) {
                loop(product, i);
            }
            busy(run, t) = seconds_since(begin);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    tell_balance(run, run->threads);
    return 0;
}

int prepare(nw_run* run) {
    run->own = run->memory(run, static_cast<std::size_t>(run->threads * kApart) * sizeof(double), 0);
    return run->own == nullptr ? 1 : 0;
}

}  // namespace schedule
