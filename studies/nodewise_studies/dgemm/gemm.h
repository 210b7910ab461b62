// SPDX-License-Identifier: BSD-3-Clause
// The problem, as BLAS defines it: C = alpha op(A) op(B) + beta C, column by column, op(A) m x k, op(B) k x n.
#pragma once

#include <cstdint>

#include "abi/kernel.h"

namespace dgemm {

struct Problem {
    std::int64_t m, n, k;
    std::int64_t lda, ldb, ldc;
    bool transposed_a, transposed_b;
    double alpha, beta;
    const double* a;
    const double* b;
    double* c;

    // Where A and B must not be read.
    [[nodiscard]] bool only_scales() const { return alpha == 0 || k == 0; }
};

// What a run keeps, in nw_run::own.
struct State {
    Problem shape;        // its pointers are null; see problem()
    double* shared_tile;  // packed B, of all threads
    double* strips;       // packed A, a part for each thread
    std::int64_t part;    // doubles of such a part
};

Problem problem(const nw_run* run);

inline State& state(const nw_run* run) { return *static_cast<State*>(run->own); }

// C = beta C, where beta 0 clears whatever was there. For each thread its share of columns.
void scale(const Problem& p, int thread, int threads);

// Memory for packed tiles: `shared` doubles for B, `part` for each thread's strips of A. Not 0 where there is none.
int packing_memory(nw_run* run, std::int64_t shared, std::int64_t part);

// The first of `count` things that fall to a part, of `parts` nearly equal ones.
inline std::int64_t first_of(std::int64_t count, int part, int parts) { return count * part / parts; }

}  // namespace dgemm
