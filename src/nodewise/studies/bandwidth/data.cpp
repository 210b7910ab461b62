// SPDX-License-Identifier: BSD-3-Clause
// The arrays, how large they are, and what has to be in them at the end.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>

#include "cache_size.h"
#include "streams.h"
#include "study.h"

namespace bandwidth {
namespace {

// Without a size each array is four times as large as all caches: by then little of it is found there again.
constexpr std::uint64_t kTimesCache = 4;
// Without a number of passes so many bytes are moved, by arrays that may fit a cache and by larger ones: some
// hundredths of a second. The peer in Python has the same rule.
constexpr std::int64_t kMaySuitCache = std::int64_t{1} << 22U;
constexpr double kMovedInCache = 8e9;
constexpr double kMovedInMemory = 3.2e9;

std::int64_t chosen_count(const nw_run* run, std::uint64_t caches) {
    const double elements = nw_number(run, "elements", 0);
    if (elements > 0) {
        return static_cast<std::int64_t>(elements);
    }
    const double kib = nw_number(run, "kib", static_cast<double>(default_array(caches, kTimesCache)) / 1024);
    return static_cast<std::int64_t>(kib) * 1024 / static_cast<std::int64_t>(sizeof(double));
}

double element(const State& own, std::int64_t i) {
    const std::int64_t period = i / kPeriod;
    return own.pattern[i % kPeriod] + static_cast<double>(period);
}

}  // namespace

State& state(const nw_run* run) { return *static_cast<State*>(run->own); }

Part part_of(const nw_run* run, int thread) {
    const State& own = state(run);
    const std::int64_t periods = (own.count + kPeriod - 1) / kPeriod;
    const std::int64_t begin = std::min(own.count, periods * thread / run->threads * kPeriod);
    const std::int64_t end = std::min(own.count, periods * (thread + 1) / run->threads * kPeriod);
    return {static_cast<double*>(nw_data(run, "a")) + begin, static_cast<const double*>(nw_data(run, "b")) + begin,
            static_cast<const double*>(nw_data(run, "c")) + begin, begin, end - begin};
}

int layout(nw_run* run) {
    auto* own = new (std::nothrow) State;
    if (own == nullptr) {
        return nw_fail(run, "not enough memory");
    }
    run->own = own;
    const std::uint64_t caches = all_caches();
    own->count = chosen_count(run, caches);
    const auto count = static_cast<double>(own->count);
    own->beyond_cache = count * 3 * sizeof(double) > static_cast<double>(caches);
    const double moved = own->count <= kMaySuitCache ? kMovedInCache : kMovedInMemory;
    const double passes = std::max(1.0, std::floor(moved / (count * kBytes) + 0.5));
    own->passes = static_cast<std::int64_t>(nw_number(run, "passes", passes));
    nw_declare(run, "a", NW_F64, NW_OUTPUT, static_cast<std::uint64_t>(own->count));
    nw_declare(run, "b", NW_F64, NW_INPUT, static_cast<std::uint64_t>(own->count));
    nw_declare(run, "c", NW_F64, NW_INPUT, static_cast<std::uint64_t>(own->count));
    nw_report(run, "array_bytes", count * sizeof(double));
    return 0;
}

int fill(nw_run* run) {
    State& own = state(run);
    const std::uint64_t base = nw_mix(run->seed);
    for (int k = 0; k < kPeriod; ++k) {
        own.pattern[k] = static_cast<double>(nw_mix(base + static_cast<std::uint64_t>(k)) >> 44U);
    }
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (int t = 0; t < run->threads; ++t) {
        const Part part = part_of(run, t);
        auto* b = const_cast<double*>(part.b);
        auto* c = const_cast<double*>(part.c);
        for (std::int64_t i = 0; i < part.count; ++i) {
            c[i] = element(own, part.begin + i);
            b[i] = (1 - kFactor) * c[i];
        }
    }
    return 0;
}

int prepare_read(nw_run* run) {
    state(run).reads_only = true;
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (int t = 0; t < run->threads; ++t) {
        const Part part = part_of(run, t);
        std::copy(part.c, part.c + part.count, part.a);
    }
    return 0;
}

int reset(nw_run* run) {
    State& own = state(run);
    own.sum = 0;
    if (own.reads_only) {
        return 0;
    }
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (int t = 0; t < run->threads; ++t) {
        const Part part = part_of(run, t);
        std::fill(part.a, part.a + part.count, std::numeric_limits<double>::quiet_NaN());
    }
    return 0;
}

int check(nw_run* run) {
    const State& own = state(run);
    std::int64_t wrong = 0;
    std::uint64_t sum = 0;
#pragma omp parallel for schedule(static) num_threads(run->threads) reduction(+ : wrong, sum)
    for (int t = 0; t < run->threads; ++t) {
        const Part part = part_of(run, t);
        for (std::int64_t i = 0; i < part.count; ++i) {
            wrong += part.a[i] == element(own, part.begin + i) ? 0 : 1;
        }
        if (own.reads_only) {
            for (std::int64_t i = 0; i < part.count; ++i) {
                sum += std::bit_cast<std::uint64_t>(part.b[i]) + std::bit_cast<std::uint64_t>(part.c[i]);
            }
        }
    }
    if (wrong != 0) {
        return nw_fail(run, "%lld elements of a are wrong", static_cast<long long>(wrong));
    }
    const std::uint64_t want = sum * static_cast<std::uint64_t>(own.passes * kReads);
    if (own.reads_only && own.sum != want) {
        return nw_fail(run, "the sum of what was read is %llx, not %llx", static_cast<unsigned long long>(own.sum),
                       static_cast<unsigned long long>(want));
    }
    return 0;
}

void release(nw_run* run) {
    delete static_cast<State*>(run->own);
    run->own = nullptr;
}

}  // namespace bandwidth
