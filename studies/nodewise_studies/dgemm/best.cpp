// SPDX-License-Identifier: BSD-3-Clause
// `best`: both operands packed, B for all threads at once into the shared cache, A by each thread into its own L2;
// tiles by the processor's instruction set.
#include "best.h"

#include <omp.h>

#include <algorithm>

#include "gemm.h"
#include "processor.h"
#include "study.h"

namespace dgemm {
namespace {

std::int64_t parts(std::int64_t size, std::int64_t most) { return (size + most - 1) / most; }

std::int64_t round_up(std::int64_t size, std::int64_t to) { return parts(size, to) * to; }

// How the product is cut: k, m, n into nearly equal blocks, none larger than the instruction set's or the knob's.
struct Cut {
    std::int64_t k_block, m_block, n_block;
    int row_groups, column_groups;  // of threads
};

std::int64_t block_of(std::int64_t size, std::int64_t most, std::int64_t unit) {
    const std::int64_t count = std::max<std::int64_t>(parts(size, std::max(most, unit)), 1);
    return std::max(round_up(parts(size, count), unit), unit);
}

Cut cut(const nw_run* run, const Problem& p, const Kernels& kernels) {
    const auto knob = [&](const char* name, std::int64_t own) {
        const auto given = static_cast<std::int64_t>(nw_number(run, name, 0));
        return given > 0 ? given : own;
    };
    Cut c{};
    c.k_block = block_of(p.k, knob("k_block", kernels.k_block), 1);
    c.n_block = block_of(p.n, knob("n_block", kernels.n_block), kernels.tile_columns);
    // threads share the rows; where these are too few, also the columns
    const std::int64_t strips = std::max<std::int64_t>(parts(p.m, kernels.tile_rows), 1);
    c.row_groups = run->threads;
    while (c.row_groups > 1 && (run->threads % c.row_groups != 0 || strips < std::int64_t{2} * c.row_groups)) {
        --c.row_groups;
    }
    c.column_groups = run->threads / c.row_groups;
    const std::int64_t share = parts(strips, c.row_groups) * kernels.tile_rows;
    c.m_block = block_of(share, knob("m_block", kernels.m_block), kernels.tile_rows);
    return c;
}

// A thread's rows of C, and its columns within a block, by the block's packed B.
struct Share {
    std::int64_t row_begin, row_end;
    std::int64_t column_begin, column_end;
};

Share share_of(const Problem& p, const Kernels& kernels, const Cut& c, std::int64_t columns, int thread) {
    const std::int64_t row_strips = parts(p.m, kernels.tile_rows);
    const std::int64_t column_strips = parts(columns, kernels.tile_columns);
    const int i = thread % c.row_groups;
    const int j = thread / c.row_groups;
    return {first_of(row_strips, i, c.row_groups) * kernels.tile_rows,
            std::min(p.m, first_of(row_strips, i + 1, c.row_groups) * kernels.tile_rows),
            first_of(column_strips, j, c.column_groups) * kernels.tile_columns,
            std::min(columns, first_of(column_strips, j + 1, c.column_groups) * kernels.tile_columns)};
}

Source a_at(const Problem& p, std::int64_t i, std::int64_t l) {
    return p.transposed_a ? Source{p.a + l + i * p.lda, p.lda, 1} : Source{p.a + i + l * p.lda, 1, p.lda};
}

Source b_at(const Problem& p, std::int64_t l, std::int64_t j) {
    return p.transposed_b ? Source{p.b + j + l * p.ldb, 1, p.ldb} : Source{p.b + l + j * p.ldb, p.ldb, 1};
}

// One block of k and n: B is packed together, then each thread works through its rows.
void multiply_block(const Problem& p, const Kernels& kernels, const Cut& c, std::int64_t l, std::int64_t j, double* b,
                    double* a) {
    const int thread = omp_get_thread_num();
    const int threads = omp_get_num_threads();
    const std::int64_t k = std::min(c.k_block, p.k - l);
    const std::int64_t n = std::min(c.n_block, p.n - j);
    const std::int64_t strips = parts(n, kernels.tile_columns);
    const std::int64_t begin = first_of(strips, thread, threads) * kernels.tile_columns;
    const std::int64_t end = std::min(n, first_of(strips, thread + 1, threads) * kernels.tile_columns);
    if (begin < end) {
        kernels.pack_b(b_at(p, l, j + begin), end - begin, k, b + begin * k);
    }
#pragma omp barrier
    const Share mine = share_of(p, kernels, c, n, thread);
    const std::int64_t rows = mine.row_end - mine.row_begin;
    const std::int64_t m_block = rows > 0 ? block_of(rows, c.m_block, kernels.tile_rows) : 1;
    for (std::int64_t i = mine.row_begin; i < mine.row_end && mine.column_begin < mine.column_end; i += m_block) {
        const std::int64_t m = std::min(m_block, mine.row_end - i);
        kernels.pack_a(a_at(p, i, l), m, k, a);
        kernels.multiply({m, mine.column_end - mine.column_begin, k, a, b + mine.column_begin * k,
                          p.c + i + (j + mine.column_begin) * p.ldc, p.ldc, p.alpha, l == 0 ? p.beta : 1.0});
    }
#pragma omp barrier
}

int prepare_with(nw_run* run, const Kernels& kernels) {
    const Problem p = problem(run);
    const Cut c = cut(run, p, kernels);
    return packing_memory(run, round_up(c.n_block, kernels.tile_columns) * c.k_block,
                          round_up(c.m_block, kernels.tile_rows) * c.k_block);
}

int multiply_with(nw_run* run, const Kernels& kernels) {
    const Problem p = problem(run);
    const Cut c = cut(run, p, kernels);
    const State& own = state(run);
#pragma omp parallel num_threads(run->threads)
    {
        if (p.only_scales()) {
            scale(p, omp_get_thread_num(), omp_get_num_threads());
        } else {
            double* a = own.strips + omp_get_thread_num() * own.part;
            for (std::int64_t j = 0; j < p.n; j += c.n_block) {
                for (std::int64_t l = 0; l < p.k; l += c.k_block) {
                    multiply_block(p, kernels, c, l, j, own.shared_tile, a);
                }
            }
        }
    }
    return 0;
}

// The widest instruction set that the processor has.
const Kernels& best_kernels() {
#if defined(__x86_64__)
    if (has_avx512()) {
        return avx512_kernels();
    }
    if (has_avx2()) {
        return avx2_kernels();
    }
#endif
    return simd_kernels();
}

}  // namespace

int prepare_best(nw_run* run) { return prepare_with(run, best_kernels()); }
int best(nw_run* run) { return multiply_with(run, best_kernels()); }

int prepare_best_simd(nw_run* run) { return prepare_with(run, simd_kernels()); }
int best_simd(nw_run* run) { return multiply_with(run, simd_kernels()); }

#if defined(__x86_64__)
int prepare_best_avx512(nw_run* run) { return prepare_with(run, avx512_kernels()); }
int best_avx512(nw_run* run) { return multiply_with(run, avx512_kernels()); }

int prepare_best_avx2(nw_run* run) { return prepare_with(run, avx2_kernels()); }
int best_avx2(nw_run* run) { return multiply_with(run, avx2_kernels()); }
#endif

}  // namespace dgemm
