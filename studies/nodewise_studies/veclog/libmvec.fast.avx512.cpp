// SPDX-License-Identifier: BSD-3-Clause
// The same loop with -ffast-math, for which GCC calls the vector logarithm of glibc's libmvec.
#include "plain.h"

int veclog::libmvec_avx512(nw_run* run) { return parallel(run); }
