// SPDX-License-Identifier: BSD-3-Clause
// c[i] = log(a[i]) log(b[i]): the functions of the study's table, and what its files share.
#pragma once

#include <stdint.h>

#include "abi/kernel.h"

namespace veclog {

int layout(nw_run* run);
int fill(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);

int serial_o0(nw_run* run);
int serial_o1(nw_run* run);
int serial_o2(nw_run* run);
int serial_o3(nw_run* run);
int parallel_o0(nw_run* run);
int parallel_o1(nw_run* run);
int parallel_o2(nw_run* run);
int parallel_o3(nw_run* run);
int simd(nw_run* run);

int libmvec_avx2(nw_run* run);
int libmvec_avx512(nw_run* run);
int svml_prepare(nw_run* run);
int svml_ha_prepare(nw_run* run);
int sleef_u10_prepare(nw_run* run);
int sleef_u35_prepare(nw_run* run);
int by_vector_function(nw_run* run);

static inline int64_t size(const nw_run* run) { return (int64_t)run->buffers[0].count; }
static inline const double* left(const nw_run* run) { return (const double*)run->buffers[0].data; }
static inline const double* right(const nw_run* run) { return (const double*)run->buffers[1].data; }
static inline double* product(const nw_run* run) { return (double*)run->buffers[2].data; }

}  // namespace veclog
