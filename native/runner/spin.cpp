// SPDX-License-Identifier: BSD-3-Clause
#include "runner/spin.h"

#include <time.h>

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace nodewise {
namespace {

// A piece that took this many times its usual time was interrupted; a clock that slows down does not slow so far.
constexpr double kInterrupted = 4;

// Each step needs the one before, so that its time is a matter of the core's clock alone.
std::uint64_t do_piece(std::uint64_t value, std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) {
        value = value * 6364136223846793005ULL + 1442695040888963407ULL;
        asm volatile("" : "+r"(value));
    }
    return value;
}

double typical_piece(std::uint64_t steps) {
    std::vector<std::uint64_t> took(2001);
    std::uint64_t value = 1;
    std::uint64_t before = read_ticks();
    for (std::uint64_t& t : took) {
        value = do_piece(value, steps);
        const std::uint64_t now = read_ticks();
        t = now - before;
        before = now;
    }
    std::nth_element(took.begin(), took.begin() + 1000, took.end());
    return static_cast<double>(std::max<std::uint64_t>(took[1000], 1));
}

}  // namespace

std::uint64_t read_ticks() {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t ticks = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
#endif
}

const char* ticks_name() {
#if defined(__x86_64__)
    return "tsc";
#elif defined(__aarch64__)
    return "cntvct";
#else
    return "clock_gettime";
#endif
}

Work calibrate(double ticks_per_ns, double piece_ns, double quantum_ns) {
    Work work;
    work.steps = 64;
    // the clock is raised within some milliseconds of load; what is measured last counts
    for (int round = 0; round < 40; ++round) {
        const double ns = typical_piece(work.steps) / ticks_per_ns;
        const double better = static_cast<double>(work.steps) * piece_ns / std::max(ns, 1.0);
        work.steps = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(better), 8, 1 << 20);
    }
    work.piece_ticks = typical_piece(work.steps);
    work.pieces = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(quantum_ns * ticks_per_ns / work.piece_ticks));
    return work;
}

void spin(const Work& work, std::uint64_t ticks, Seen& seen) {
    const double usual = typical_piece(work.steps);
    const auto limit = static_cast<std::uint64_t>(kInterrupted * usual);
    const auto spared = static_cast<std::uint64_t>(usual);
    std::uint64_t value = 1;
    std::size_t done = 0;
    std::uint64_t before = read_ticks();
    seen.begin = before;
    const std::uint64_t last = before + ticks;
    while (before < last && done < seen.quanta.size()) {
        const std::uint64_t quantum = before;
        for (std::uint64_t i = 0; i < work.pieces; ++i) {
            value = do_piece(value, work.steps);
            const std::uint64_t now = read_ticks();
            const std::uint64_t took = now - before;
            if (took > limit) {
                const std::uint64_t beyond = took - spared;
                const auto bin = static_cast<std::size_t>(std::bit_width(beyond) - 1);
                ++seen.detours;
                seen.lost += beyond;
                seen.longest = std::max(seen.longest, beyond);
                ++seen.counts[std::min(bin, Seen::kLengths - 1)];
                seen.sums[std::min(bin, Seen::kLengths - 1)] += beyond;
            }
            before = now;
        }
        seen.quanta[done++] = before - quantum;
    }
    seen.end = before;
    seen.quanta.resize(done);
}

}  // namespace nodewise
