// SPDX-License-Identifier: BSD-3-Clause
// The triple loop as one writes it first, its rows shared among the threads by OpenMP's schedule.
#include <omp.h>

#include <cstring>

#include "gemm.h"
#include "schedule.h"
#include "study.h"

namespace dgemm {

int naive(nw_run* run) {
    const Problem p = problem(run);
    const std::int64_t a_row = p.transposed_a ? p.lda : 1;
    const std::int64_t a_column = p.transposed_a ? 1 : p.lda;
    const std::int64_t b_row = p.transposed_b ? p.ldb : 1;
    const std::int64_t b_column = p.transposed_b ? 1 : p.ldb;
    choose_schedule(run);
#pragma omp parallel for schedule(runtime) num_threads(run->threads)
    for (std::int64_t i = 0; i < p.m; ++i) {
        for (std::int64_t j = 0; j < p.n; ++j) {
            double sum = 0;
            for (std::int64_t l = 0; l < p.k && p.alpha != 0; ++l) {
                sum += p.a[i * a_row + l * a_column] * p.b[l * b_row + j * b_column];
            }
            double& c = p.c[i + j * p.ldc];
            c = p.alpha * sum + (p.beta == 0 ? 0 : p.beta * c);
        }
    }
    return 0;
}

}  // namespace dgemm
