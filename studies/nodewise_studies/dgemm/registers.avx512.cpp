// SPDX-License-Identifier: BSD-3-Clause
// 8 x 28, as published: 28 of the 32 registers.
#define NW_LANES 8
#define NW_COLUMNS 28
#define NW_HALF(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
#define NW_REST(X) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27)
#define NW_EACH(X) NW_HALF(X) NW_REST(X)
#include "registers.h"

#include "study.h"

namespace dgemm {

int prepare_registers_avx512(nw_run* run) { return prepare_published(run, {kLanes, kColumns, multiply<false>}); }
int registers_avx512(nw_run* run) { return multiply_published(run, {kLanes, kColumns, multiply<false>}, false); }
int prefetch_avx512(nw_run* run) { return multiply_published(run, {kLanes, kColumns, multiply<true>}, true); }

}  // namespace dgemm
