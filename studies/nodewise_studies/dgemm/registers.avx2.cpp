// SPDX-License-Identifier: BSD-3-Clause
// For processors with 16 registers of four doubles: 4 x 12.
#define NW_LANES 4
#define NW_COLUMNS 12
#define NW_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#include "registers.h"

#include "study.h"

namespace dgemm {

int prepare_registers_avx2(nw_run* run) { return prepare_published(run, {kLanes, kColumns, multiply<false>}); }
int registers_avx2(nw_run* run) { return multiply_published(run, {kLanes, kColumns, multiply<false>}, false); }
int prefetch_avx2(nw_run* run) { return multiply_published(run, {kLanes, kColumns, multiply<true>}, true); }

}  // namespace dgemm
