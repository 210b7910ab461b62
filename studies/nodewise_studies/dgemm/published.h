// SPDX-License-Identifier: BSD-3-Clause
// The published variant: a tile of B packed for all threads, strips of A packed by each, and a core that multiplies one
// strip of either. The steps `tiled`, `registers` and `prefetch` differ in their core alone.
#pragma once

#include <cstdint>

#include "abi/kernel.h"

namespace dgemm {

// c(rows x columns) = alpha a b + beta c; a and b are packed strips of full height and width, k after k.
struct CoreCall {
    std::int64_t k;
    const double* a;
    const double* b;
    double* c;
    std::int64_t ldc;
    std::int64_t rows, columns;
    double alpha, beta;
    std::int64_t l2_distance, l1_distance;  // how many k ahead is fetched; 0 for not
};

struct Core {
    std::int64_t rows, columns;
    void (*multiply)(const CoreCall& call);
};

int prepare_published(nw_run* run, const Core& core);
int multiply_published(nw_run* run, const Core& core, bool prefetch);

// For the blocks at C's edges: what a core summed up for a full block, `from`, goes where C exists.
// Internal to each file, since the copy of one instruction set must not serve another.
static inline void store_part(const CoreCall& call, const double* from, std::int64_t height) {
    for (std::int64_t j = 0; j < call.columns; ++j) {
        for (std::int64_t i = 0; i < call.rows; ++i) {
            double& c = call.c[i + j * call.ldc];
            c = call.alpha * from[i + j * height] + (call.beta == 0 ? 0 : call.beta * c);
        }
    }
}

}  // namespace dgemm
