// SPDX-License-Identifier: BSD-3-Clause
// What a run's arrays mean: this rank's part of each vector, one vector after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/kernel.h"
#include "abi/parts.h"

namespace gramschmidt {

using nw::on_chunks;
using nw::on_parts;
using nw::Sums;

struct Problem {
    std::int64_t n;       // elements of a vector on this rank
    std::int64_t whole;   // over all ranks
    std::int64_t before;  // on the ranks before this one
    int vectors;
    bool update;         // whether a second basis gets the same combinations
    std::int64_t chunk;  // elements that a blocked pass takes at a time
    int panel;           // vectors that are taken together
    double condition;    // of the vectors that are given
    const double* v;     // the vectors that are given, vectors × n
    const double* d0;    // those of the second basis
    double* q;
    double* d;
    double* r;  // vectors × vectors, row by row, the same on all ranks

    [[nodiscard]] double* vector_of(double* basis, int j) const { return basis + j * n; }
    [[nodiscard]] const double* vector_of(const double* basis, int j) const { return basis + j * n; }
    [[nodiscard]] double& r_of(int i, int j) const { return r[i * vectors + j]; }
};

Problem problem(const nw_run* run);

// Bytes of the last cache.
double last_cache();

// What a variant needs besides the arrays, made before the clock runs.
struct Scratch {
    Sums sums;
    std::vector<double> a;
    std::vector<double> b;
    std::vector<double> products;  // Q'Q below its diagonal, row by row
    std::vector<void*> handles;    // a library's own objects
    std::vector<void*> more_handles;

    Scratch(int threads, int vectors)
        : sums(threads, 2 * vectors + 2),
          a(static_cast<std::size_t>(2 * vectors + 2)),
          b(a.size()),
          products(static_cast<std::size_t>(vectors) * static_cast<std::size_t>(vectors)) {}
};

}  // namespace gramschmidt
