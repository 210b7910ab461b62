// SPDX-License-Identifier: BSD-3-Clause
// What a run's arrays mean: this rank's rows of A x = b.
#pragma once

#include <cstdint>

#include "abi/kernel.h"

namespace krylov {

enum class Kind { none, jacobi, ilu };

struct Problem {
    std::int64_t n;              // rows of this rank
    std::int64_t whole;          // of all
    std::int64_t first;          // the first of this rank
    const std::int32_t* counts;  // entries of each row
    const std::int32_t* columns;
    const double* values;
    const double* b;
    double* x;
    int restart;       // directions that are kept before they are forgotten together
    double tolerance;  // of |b - A x| against |b|
    int most;          // iterations
    int blocks;        // of the preconditioner, on this rank
    Kind precondition;
    std::int64_t chunk;  // elements that a blocked pass takes at a time
};

Problem problem(const nw_run* run);

}  // namespace krylov
