// SPDX-License-Identifier: BSD-3-Clause
// GMRES with restarts (Saad and Schultz 1986, doi 10.1137/0907058), preconditioned from the right, so that the residual
// that it minimises is that of the system as it was given.
#include <algorithm>
#include <cmath>
#include <vector>

#include "simd_math/vectors.h"
#include "state.h"
#include "study.h"

namespace krylov {
namespace {

// The small problem that goes with a cycle: an upper triangle, made so by rotations, column by column.
class Triangle {
  public:
    Triangle(int most, double first)
        : most_(most),
          h_(static_cast<std::size_t>(most) * static_cast<std::size_t>(most)),
          cosines_(static_cast<std::size_t>(most)),
          sines_(static_cast<std::size_t>(most)),
          right_(static_cast<std::size_t>(most) + 1) {
        right_[0] = first;
    }

    // Column j: products with the vectors before, and the length of what was left. Gives the residual's length.
    double add(int j, const double* products, double left) {
        double* column = column_of(j);
        std::copy(products, products + j + 1, column);
        for (int i = 0; i < j; ++i) {
            const double above = column[i];
            const auto at = static_cast<std::size_t>(i);
            column[i] = cosines_[at] * above + sines_[at] * column[i + 1];
            column[i + 1] = -sines_[at] * above + cosines_[at] * column[i + 1];
        }
        const double length = std::hypot(column[j], left);
        const auto at = static_cast<std::size_t>(j);
        cosines_[at] = length > 0 ? column[j] / length : 1;
        sines_[at] = length > 0 ? left / length : 0;
        column[j] = length;
        right_[at + 1] = -sines_[at] * right_[at];
        right_[at] *= cosines_[at];
        return std::fabs(right_[at + 1]);
    }

    // What each of the first `count` vectors has to be taken times; false where a length is 0.
    bool solve(int count, std::vector<double>& out) {
        for (int i = count - 1; i >= 0; --i) {
            double left = right_[static_cast<std::size_t>(i)];
            for (int j = i + 1; j < count; ++j) {
                left -= column_of(j)[i] * out[static_cast<std::size_t>(j)];
            }
            if (column_of(i)[i] == 0) {
                return false;
            }
            out[static_cast<std::size_t>(i)] = left / column_of(i)[i];
        }
        return true;
    }

  private:
    double* column_of(int j) { return h_.data() + static_cast<std::ptrdiff_t>(j) * most_; }
    int most_;
    std::vector<double> h_;
    std::vector<double> cosines_;
    std::vector<double> sines_;
    std::vector<double> right_;
};

// x += M⁻¹ Σ a[i] basis_i
void correct(nw_run* run, const Problem& p, Solver& solver, int count, std::vector<double>& a) {
    double* sum = solver.basis.at(count);
    for (int i = 0; i < count; ++i) {
        a[static_cast<std::size_t>(i)] *= -solver.factors[static_cast<std::size_t>(i)];
    }
    nw::on_parts(run, p.n, [&](int, std::int64_t begin, std::int64_t end) {
        nw::on_chunks(begin, end, p.chunk, [&](std::int64_t at, std::int64_t length) {
            std::fill(sum + at, sum + at + length, 0.0);
            simd_math::subtract(sum + at, solver.basis.data + at, solver.basis.stride, count, a.data(), length);
        });
    });
    solver.preconditioner.solve(run, sum, 1, solver.z);
    nw::on_parts(run, p.n, [&](int, std::int64_t begin, std::int64_t end) {
        simd_math::axpy(p.x + begin, 1, solver.z + begin, end - begin);
    });
}

// basis_(j+1) = A M⁻¹ basis_j without its parts along those before; `products` get these parts. Gives the length that
// is left. The classic way leaves every vector as it came out, and keeps the factor that makes its length 1.
double classic_step(nw_run* run, Solver& solver, int j) {
    double* w = solver.basis.at(j + 1);
    double* products = solver.products.data();
    solver.preconditioner.solve(run, solver.basis.at(j), solver.factors[static_cast<std::size_t>(j)], solver.z);
    solver.multiply(run, solver.z, w, j + 1, products);
    for (int i = 0; i <= j; ++i) {
        const double factor = solver.factors[static_cast<std::size_t>(i)];
        products[i] *= factor * factor;
    }
    double squares[2];
    solver.subtract(run, w, nullptr, j + 1, products, nullptr, squares);
    for (int i = 0; i <= j; ++i) {
        products[i] /= solver.factors[static_cast<std::size_t>(i)];
    }
    const double left = std::sqrt(squares[0]);
    solver.factors[static_cast<std::size_t>(j) + 1] = left > 0 ? 1 / left : 0;
    return left;
}

double modified_step(nw_run* run, Solver& solver, int j) {
    double* w = solver.basis.at(j + 1);
    solver.preconditioner.solve(run, solver.basis.at(j), 1, solver.z);
    solver.multiply(run, solver.z, w, 0, nullptr);
    solver.subtract_each(run, w, nullptr, j + 1, solver.products.data());
    const double left = std::sqrt(solver.dot(run, w, w));
    if (left > 0) {
        solver.scale(run, w, 1 / left);
    }
    return left;
}

int solve_by_gmres(nw_run* run, bool modified) {
    const Problem p = problem(run);
    Solver& solver = *state(run).solver;
    std::fill(p.x, p.x + p.n, 0.0);
    std::copy(p.b, p.b + p.n, solver.basis.at(0));
    double left = std::sqrt(solver.dot(run, p.b, p.b));
    const double enough = p.tolerance * left;
    solver.iterations = 0;
    std::vector<double> a(static_cast<std::size_t>(p.restart) + 1);
    while (left > enough) {
        Triangle triangle(p.restart, left);
        std::fill(solver.factors.begin(), solver.factors.end(), 1.0);
        solver.factors[0] = 1 / left;
        if (modified) {
            solver.scale(run, solver.basis.at(0), 1 / left);
            solver.factors[0] = 1;
        }
        int count = 0;
        bool ended = false;
        while (count < p.restart && left > enough && !ended) {
            const double length = modified ? modified_step(run, solver, count) : classic_step(run, solver, count);
            left = triangle.add(count++, solver.products.data(), length);
            // nothing left to look for: the solution is among what is there
            ended = ++solver.iterations >= p.most || !(length > 0);
        }
        if (!triangle.solve(count, a)) {
            return nw_fail(run, "GMRES broke down after %d iterations: the matrix seems singular", solver.iterations);
        }
        correct(run, p, solver, count, a);
        if (left > enough) {
            if (solver.iterations >= p.most) {
                return nw_fail(run, "GMRES: after %d iterations the residual is %.3g of what is given", p.most,
                               left / enough * p.tolerance);
            }
            left = std::sqrt(solver.residual(run, p, solver.basis.at(0)));
        }
    }
    state(run).iterations = solver.iterations;
    return 0;
}

}  // namespace

int gmres(nw_run* run) { return solve_by_gmres(run, false); }
int gmres_modified(nw_run* run) { return solve_by_gmres(run, true); }

}  // namespace krylov
