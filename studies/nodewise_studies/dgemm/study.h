// SPDX-License-Identifier: BSD-3-Clause
// The functions of the study's table; see abi/kernel.h for what each promises.
#pragma once

#include "abi/kernel.h"

namespace dgemm {

int layout(nw_run* run);
int fill(nw_run* run);
int reset(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);
void release(nw_run* run);

int naive(nw_run* run);

int prepare_tiled(nw_run* run);
int tiled(nw_run* run);

int prepare_registers_avx512(nw_run* run);
int registers_avx512(nw_run* run);
int prefetch_avx512(nw_run* run);

int prepare_registers_avx2(nw_run* run);
int registers_avx2(nw_run* run);
int prefetch_avx2(nw_run* run);

int prepare_best(nw_run* run);
int best(nw_run* run);
int prepare_best_avx512(nw_run* run);
int best_avx512(nw_run* run);
int prepare_best_avx2(nw_run* run);
int best_avx2(nw_run* run);
int prepare_best_simd(nw_run* run);
int best_simd(nw_run* run);

int prepare_openblas64(nw_run* run);
int openblas64(nw_run* run);
int prepare_openblas(nw_run* run);
int openblas(nw_run* run);
int prepare_blis(nw_run* run);
int blis(nw_run* run);
int prepare_mkl(nw_run* run);
int mkl(nw_run* run);

}  // namespace dgemm
