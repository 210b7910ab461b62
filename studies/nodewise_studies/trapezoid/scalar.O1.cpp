// SPDX-License-Identifier: BSD-3-Clause
// Level 1 keeps these scalar: a compiler that vectorises them would make another implementation of them.
#include "scalar.h"

#include "study.h"

namespace trapezoid {

double original_rule(const Integral& integral) { return sum_original(integral.n, integral.a, integral.h); }

double second_rule(const Integral& integral) { return sum_second(integral.n, integral.a, integral.h); }

}  // namespace trapezoid
