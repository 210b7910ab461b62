// SPDX-License-Identifier: BSD-3-Clause
// What the driver of `best` (best.cpp) takes from an instruction set: a tile of C that stays in registers, and how both
// operands are packed for it.
#pragma once

#include <cstdint>

namespace dgemm {

// Where packing reads: element (i, l) of a strip lies at from[i * across + l * along]; one of both steps is 1.
struct Source {
    const double* from;
    std::int64_t across;  // from one row of a strip (of op(A), or of op(B) transposed) to the next
    std::int64_t along;   // from one k to the next
};

// A packed block of A (m x k) by packed strips of B (k x n), into C.
struct Block {
    std::int64_t m, n, k;
    const double* a;
    const double* b;
    double* c;
    std::int64_t ldc;
    double alpha, beta;
};

// Packed A: strips of tile_rows rows, k after k, the last one with as many whole vectors as it needs; packed B: strips
// of tile_columns columns, k after k. What is missing in the last strip is 0.
struct Kernels {
    std::int64_t tile_rows, tile_columns;
    std::int64_t k_block, m_block,
        n_block;  // the largest block: A's stays in L2, a strip of B's in L1, all of B's in L3
    void (*pack_a)(Source source, std::int64_t rows, std::int64_t k, double* into);
    void (*pack_b)(Source source, std::int64_t columns, std::int64_t k, double* into);
    void (*multiply)(const Block& block);
};

const Kernels& avx512_kernels();
const Kernels& avx2_kernels();
const Kernels& simd_kernels();

}  // namespace dgemm
