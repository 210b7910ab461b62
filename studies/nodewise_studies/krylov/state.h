// SPDX-License-Identifier: BSD-3-Clause
// What a run keeps from layout to release.
#pragma once

#include <memory>

#include "matrix.h"
#include "solver.h"

namespace krylov {

struct Handles;  // PETSc's objects

struct State {
    Rows rows;  // until they are in the arrays
    std::int64_t whole = 0;
    std::int64_t first = 0;
    std::int64_t n = 0;
    std::unique_ptr<Solver> solver;
    std::shared_ptr<Handles> petsc;
    double setup_s = 0;
    int iterations = 0;
    double read = 0;  // a sum of what the limit reads
};

inline State& state(const nw_run* run) { return *static_cast<State*>(run->own); }

}  // namespace krylov
