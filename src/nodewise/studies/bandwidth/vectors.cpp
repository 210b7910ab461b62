// SPDX-License-Identifier: BSD-3-Clause
// The variants with the widest vectors here. Each thread passes over its own part again and again, waiting for nobody.
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vectors.cpp"
#include <omp.h>

#include <numeric>

#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // compiles this file again for each instruction set
#include "hwy/highway.h"
#include "streams.h"

HWY_BEFORE_NAMESPACE();
namespace bandwidth {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Numbers = hn::ScalableTag<double>;
using Bits = hn::ScalableTag<std::uint64_t>;

// What a compiler must not move loads and stores across: else it could do one pass in place of many.
HWY_INLINE void end_of_pass() { __asm__ volatile("" ::: "memory"); }

template <bool kAround, class V>
HWY_INLINE void put(V x, double* HWY_RESTRICT to) {
    if constexpr (kAround) {
        hn::Stream(x, Numbers(), to);
    } else {
        hn::Store(x, Numbers(), to);
    }
}

// Eight sums, each with a load for every addition, over four streams: the halves of b and those of c. More sums hide
// the additions' latency where data come from the nearest cache, more streams keep the prefetchers of the others busy.
std::uint64_t read_part(const Part& part, std::int64_t passes) {
    const Bits d;
    const auto n = static_cast<std::int64_t>(hn::Lanes(d));
    const std::int64_t half = part.count / (4 * n) * (2 * n);
    const auto* b0 = reinterpret_cast<const std::uint64_t*>(part.b);
    const auto* c0 = reinterpret_cast<const std::uint64_t*>(part.c);
    const std::uint64_t* b1 = b0 + half;
    const std::uint64_t* c1 = c0 + half;
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    std::uint64_t rest = 0;
    for (std::int64_t p = 0; p < passes; ++p) {
        for (std::int64_t i = 0; i < half; i += 2 * n) {
            s0 = hn::Add(s0, hn::Load(d, b0 + i));
            s1 = hn::Add(s1, hn::Load(d, c0 + i));
            s2 = hn::Add(s2, hn::Load(d, b1 + i));
            s3 = hn::Add(s3, hn::Load(d, c1 + i));
            s4 = hn::Add(s4, hn::Load(d, b0 + i + n));
            s5 = hn::Add(s5, hn::Load(d, c0 + i + n));
            s6 = hn::Add(s6, hn::Load(d, b1 + i + n));
            s7 = hn::Add(s7, hn::Load(d, c1 + i + n));
        }
        for (std::int64_t i = 2 * half; i < part.count; ++i) {
            rest += b0[i] + c0[i];
        }
        end_of_pass();
    }
    const auto even = hn::Add(hn::Add(s0, s2), hn::Add(s4, s6));
    const auto odd = hn::Add(hn::Add(s1, s3), hn::Add(s5, s7));
    // lane by lane: the compiler's own sum over a vector is of signed numbers, which must not overflow
    std::uint64_t lanes[HWY_MAX_BYTES / sizeof(std::uint64_t)];
    hn::StoreU(hn::Add(even, odd), d, lanes);
    return std::accumulate(lanes, lanes + hn::Lanes(d), rest);
}

template <bool kAround>
HWY_INLINE void write_passes(const Part& part, const double* HWY_RESTRICT pattern, std::int64_t passes) {
    const Numbers d;
    const auto n = static_cast<std::int64_t>(hn::Lanes(d));
    const std::int64_t before = part.begin / kPeriod;
    for (std::int64_t p = 0; p < passes; ++p) {
        std::int64_t i = 0;
        auto period = static_cast<double>(before);
        for (; i + kPeriod <= part.count; i += kPeriod, period += 1) {
            const auto add = hn::Set(d, period);
            for (std::int64_t k = 0; k < kPeriod; k += n) {
                put<kAround>(hn::Add(hn::Load(d, pattern + k), add), part.a + i + k);
            }
        }
        for (std::int64_t k = 0; i < part.count; ++i, ++k) {
            part.a[i] = pattern[k] + period;
        }
        end_of_pass();
    }
}

template <bool kAround>
HWY_INLINE void copy_passes(const Part& part, std::int64_t passes) {
    const Numbers d;
    const auto n = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t p = 0; p < passes; ++p) {
        std::int64_t i = 0;
        for (; i + 4 * n <= part.count; i += 4 * n) {
            const auto x0 = hn::Load(d, part.c + i);
            const auto x1 = hn::Load(d, part.c + i + n);
            const auto x2 = hn::Load(d, part.c + i + 2 * n);
            const auto x3 = hn::Load(d, part.c + i + 3 * n);
            put<kAround>(x0, part.a + i);
            put<kAround>(x1, part.a + i + n);
            put<kAround>(x2, part.a + i + 2 * n);
            put<kAround>(x3, part.a + i + 3 * n);
        }
        for (; i < part.count; ++i) {
            part.a[i] = part.c[i];
        }
        end_of_pass();
    }
}

template <bool kAround>
HWY_INLINE void triad_passes(const Part& part, std::int64_t passes) {
    const Numbers d;
    const auto n = static_cast<std::int64_t>(hn::Lanes(d));
    const auto factor = hn::Set(d, kFactor);
    for (std::int64_t p = 0; p < passes; ++p) {
        std::int64_t i = 0;
        for (; i + 4 * n <= part.count; i += 4 * n) {
            const auto x0 = hn::MulAdd(factor, hn::Load(d, part.c + i), hn::Load(d, part.b + i));
            const auto x1 = hn::MulAdd(factor, hn::Load(d, part.c + i + n), hn::Load(d, part.b + i + n));
            const auto x2 = hn::MulAdd(factor, hn::Load(d, part.c + i + 2 * n), hn::Load(d, part.b + i + 2 * n));
            const auto x3 = hn::MulAdd(factor, hn::Load(d, part.c + i + 3 * n), hn::Load(d, part.b + i + 3 * n));
            put<kAround>(x0, part.a + i);
            put<kAround>(x1, part.a + i + n);
            put<kAround>(x2, part.a + i + 2 * n);
            put<kAround>(x3, part.a + i + 3 * n);
        }
        for (; i < part.count; ++i) {
            part.a[i] = part.b[i] + kFactor * part.c[i];
        }
        end_of_pass();
    }
}

void write_part(const Part& part, const double* pattern, std::int64_t passes, bool around) {
    HWY_ALIGN double own[kPeriod];
    for (std::int64_t k = 0; k < kPeriod; ++k) {
        own[k] = pattern[k];
    }
    around ? write_passes<true>(part, own, passes) : write_passes<false>(part, own, passes);
}

void copy_part(const Part& part, std::int64_t passes, bool around) {
    around ? copy_passes<true>(part, passes) : copy_passes<false>(part, passes);
}

void triad_part(const Part& part, std::int64_t passes, bool around) {
    around ? triad_passes<true>(part, passes) : triad_passes<false>(part, passes);
}

}  // namespace HWY_NAMESPACE
}  // namespace bandwidth
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bandwidth {
namespace {

HWY_EXPORT(read_part);
HWY_EXPORT(write_part);
HWY_EXPORT(copy_part);
HWY_EXPORT(triad_part);

int write_all(nw_run* run, bool around) {
    const State& own = state(run);
#pragma omp parallel num_threads(run->threads)
    {
        HWY_DYNAMIC_DISPATCH(write_part)
        (part_of(run, omp_get_thread_num()), own.pattern, own.passes * kWrites, around);
        hwy::FlushStream();
    }
    return 0;
}

int copy_all(nw_run* run, bool around) {
    const State& own = state(run);
#pragma omp parallel num_threads(run->threads)
    {
        HWY_DYNAMIC_DISPATCH(copy_part)(part_of(run, omp_get_thread_num()), own.passes * kCopies, around);
        hwy::FlushStream();
    }
    return 0;
}

int triad_all(nw_run* run, bool around) {
    const State& own = state(run);
#pragma omp parallel num_threads(run->threads)
    {
        HWY_DYNAMIC_DISPATCH(triad_part)(part_of(run, omp_get_thread_num()), own.passes * kTriads, around);
        hwy::FlushStream();
    }
    return 0;
}

}  // namespace

int read(nw_run* run) {
    State& own = state(run);
    std::uint64_t sum = 0;
#pragma omp parallel num_threads(run->threads) reduction(+ : sum)
    sum += HWY_DYNAMIC_DISPATCH(read_part)(part_of(run, omp_get_thread_num()), own.passes * kReads);
    own.sum = sum;
    return 0;
}

int write(nw_run* run) { return write_all(run, state(run).beyond_cache); }
int copy(nw_run* run) { return copy_all(run, state(run).beyond_cache); }
int triad(nw_run* run) { return triad_all(run, state(run).beyond_cache); }
int write_cached(nw_run* run) { return write_all(run, false); }
int copy_cached(nw_run* run) { return copy_all(run, false); }
int triad_cached(nw_run* run) { return triad_all(run, false); }

}  // namespace bandwidth
#endif
