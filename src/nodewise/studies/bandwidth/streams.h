// SPDX-License-Identifier: BSD-3-Clause
// Three arrays of doubles, and variants of passing over them. Each variant leaves `a` equal to `c`: copying, a = c; the
// triad, because b = -2 c and a = b + 3 c; writing, because c is a pattern that can be made again without reading it.
#pragma once

#include <cstdint>

#include "abi/kernel.h"

namespace bandwidth {

// c[i] is pattern[i % kPeriod] + i / kPeriod: every element of it has a place. A period is a few vectors of any kind.
constexpr std::int64_t kPeriod = 64;
constexpr double kFactor = 3.0;

// A pass of each variant moves another number of bytes (8, 16 or 24 an element): so many passes make all of them 48.
constexpr std::int64_t kBytes = 48;
constexpr std::int64_t kReads = 3;
constexpr std::int64_t kWrites = 6;
constexpr std::int64_t kCopies = 3;
constexpr std::int64_t kTriads = 2;

struct State {
    std::int64_t count = 0;
    std::int64_t passes = 0;
    bool beyond_cache = false;  // whether the arrays are larger than all caches together
    bool reads_only = false;    // the variant leaves `a` alone, and gives `sum`
    std::uint64_t sum = 0;      // of the bits of b and c, modulo 2^64
    double pattern[kPeriod] = {};
};

// What a thread passes over: a whole number of periods, but for the last thread.
struct Part {
    double* a;
    const double* b;
    const double* c;
    std::int64_t begin;
    std::int64_t count;
};

State& state(const nw_run* run);
Part part_of(const nw_run* run, int thread);

int prepare_read(nw_run* run);

// With stores that go around the caches where the arrays are larger than those.
int read(nw_run* run);
int write(nw_run* run);
int copy(nw_run* run);
int triad(nw_run* run);
// With ordinary stores.
int write_cached(nw_run* run);
int copy_cached(nw_run* run);
int triad_cached(nw_run* run);
int plain(nw_run* run);
// The C library's.
int memcpy_peer(nw_run* run);

}  // namespace bandwidth
