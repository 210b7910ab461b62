// SPDX-License-Identifier: BSD-3-Clause
// Orthomin with restarts, also called GCR (Eisenstat, Elman, Schultz 1983, doi 10.1137/0720023): directions whose
// images are orthogonal, each taken as far as it brings the residual down. The images and the directions get the same
// combinations, which is what the study `gramschmidt` measures by itself.
#include <algorithm>
#include <cmath>

#include "state.h"
#include "study.h"

namespace krylov {
namespace {

// How a direction and its image are left, and how far to go along them.
struct Step {
    double square;    // of the image's length
    double products;  // of the image and the residual
};

Step classic_step(nw_run* run, Solver& solver, const double* r, int j) {
    double* w = solver.basis.at(j);
    double* a = solver.products.data();
    solver.multiply(run, solver.second.at(j), w, j, a);
    for (int i = 0; i < j; ++i) {
        // one over the square of its length
        a[i] *= solver.factors[static_cast<std::size_t>(i)];
    }
    double out[2];
    solver.subtract(run, w, solver.second.at(j), j, a, r, out);
    solver.factors[static_cast<std::size_t>(j)] = out[0] > 0 ? 1 / out[0] : 0;
    return {out[0], out[1]};
}

Step modified_step(nw_run* run, Solver& solver, const double* r, int j) {
    double* w = solver.basis.at(j);
    double* s = solver.second.at(j);
    solver.multiply(run, s, w, 0, nullptr);
    solver.subtract_each(run, w, s, j, solver.products.data());
    const double square = solver.dot(run, w, w);
    if (!(square > 0)) {
        return {0, 0};
    }
    solver.scale(run, w, 1 / std::sqrt(square));
    solver.scale(run, s, 1 / std::sqrt(square));
    return {1, solver.dot(run, w, r)};
}

int solve_by_orthomin(nw_run* run, bool modified) {
    const Problem p = problem(run);
    Solver& solver = *state(run).solver;
    // the last of the basis has no direction of its own
    double* r = solver.basis.at(p.restart);
    std::fill(p.x, p.x + p.n, 0.0);
    std::copy(p.b, p.b + p.n, r);
    double left = std::sqrt(solver.dot(run, r, r));
    const double enough = p.tolerance * left;
    solver.iterations = 0;
    for (int j = 0; left > enough; j = j + 1 < p.restart ? j + 1 : 0) {
        if (solver.iterations >= p.most) {
            return nw_fail(run, "Orthomin: after %d iterations the residual is %.3g of what is given", p.most,
                           left / enough * p.tolerance);
        }
        solver.preconditioner.solve(run, r, 1, solver.second.at(j));
        const Step step = modified ? modified_step(run, solver, r, j) : classic_step(run, solver, r, j);
        if (!(step.square > 0)) {
            return nw_fail(run, "Orthomin broke down after %d iterations: the matrix seems singular",
                           solver.iterations);
        }
        left =
            std::sqrt(solver.step(run, p.x, solver.second.at(j), r, solver.basis.at(j), step.products / step.square));
        ++solver.iterations;
    }
    state(run).iterations = solver.iterations;
    return 0;
}

}  // namespace

int orthomin(nw_run* run) { return solve_by_orthomin(run, false); }
int orthomin_modified(nw_run* run) { return solve_by_orthomin(run, true); }

}  // namespace krylov
