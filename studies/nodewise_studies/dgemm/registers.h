// SPDX-License-Identifier: BSD-3-Clause
// The second and third published step: a core whose block of C is not an array but as many locals as there are
// registers to hold them, t0, t1 …, each a vector of the strip's height; for an instruction set that defines
//   NW_LANES      doubles in a vector, which is the strip's height
//   NW_COLUMNS    how many locals, which is the strip's width
//   NW_EACH(X)    X(0) X(1) … for each of them
// before it includes this file.
#pragma once

#include <cstdint>
#include <cstring>

#include "published.h"

namespace dgemm {
namespace {

constexpr std::int64_t kLanes = NW_LANES;
constexpr std::int64_t kColumns = NW_COLUMNS;

using Vector = double __attribute__((vector_size(kLanes * sizeof(double))));

inline Vector load(const double* from) {
    Vector v = {};
    std::memcpy(&v, from, sizeof v);
    return v;
}

inline void store(double* to, Vector v) { std::memcpy(to, &v, sizeof v); }

template <int locality>
inline void fetch(const double* from, std::int64_t count) {
    constexpr std::int64_t kLine = 64 / sizeof(double);
    for (std::int64_t i = 0; i < count; i += kLine) {
        __builtin_prefetch(from + i, 0, locality);
    }
}

inline void put(const CoreCall& call, int j, Vector sum) {
    double* c = call.c + j * call.ldc;
    store(c, call.beta == 0 ? call.alpha * sum : call.alpha * sum + call.beta * load(c));
}

template <bool prefetch>
void multiply(const CoreCall& call) {
#define NW_CLEAR(j) Vector t##j = {};
    NW_EACH(NW_CLEAR)
    const double* a = call.a;
    const double* b = call.b;
    for (std::int64_t l = 0; l < call.k; ++l, a += kLanes, b += kColumns) {
        if (prefetch && call.l2_distance > 0) {
            fetch<2>(a + call.l2_distance * kLanes, kLanes);
            fetch<2>(b + call.l2_distance * kColumns, kColumns);
        }
        if (prefetch && call.l1_distance > 0) {
            fetch<3>(a + call.l1_distance * kLanes, kLanes);
            fetch<3>(b + call.l1_distance * kColumns, kColumns);
        }
        const Vector column = load(a);
#define NW_ADD(j) t##j += column * b[j];
        NW_EACH(NW_ADD)
    }
    if (call.rows == kLanes && call.columns == kColumns) {
#define NW_PUT(j) put(call, j, t##j);
        NW_EACH(NW_PUT)
        return;
    }
    alignas(64) double sum[kColumns * kLanes];
#define NW_KEEP(j) store(sum + (j) * kLanes, t##j);
    NW_EACH(NW_KEEP)
    store_part(call, sum, kLanes);
}

}  // namespace
}  // namespace dgemm
