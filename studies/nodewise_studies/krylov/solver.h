// SPDX-License-Identifier: BSD-3-Clause
// What the solvers are made of: bases, and passes over them that take a chunk at a time, so that it stays in a cache.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/parts.h"
#include "operator.h"
#include "preconditioner.h"
#include "problem.h"

namespace krylov {

// Vectors one after the other, each with room for the elements of other ranks.
struct Basis {
    double* data = nullptr;
    std::int64_t stride = 0;
    [[nodiscard]] double* at(int j) const { return data + j * stride; }
};

class Solver {
  public:
    // `second`: whether a second basis is kept, of what the first was made of. Raises runtime_error.
    Solver(nw_run* run, const Problem& p, bool second);

    // w = A z, and out[i] = basis_i · w for the first `count`, in one pass; z gets the others' elements first.
    void multiply(nw_run* run, double* z, double* w, int count, double* out);

    // w -= Σ a[i] basis_i, and of the second basis likewise for s unless it is null; then out = {w · w, w · other}, of
    // which the latter is 0 where there is no other.
    void subtract(nw_run* run, double* w, double* s, int count, const double* a, const double* other, double* out);

    // The published modified one: each of the first `count` is multiplied with w, and at once subtracted; of the second
    // basis likewise for s unless it is null. `a` gets the products. These vectors have a length of 1.
    void subtract_each(nw_run* run, double* w, double* s, int count, double* a);

    double dot(nw_run* run, const double* x, const double* y);
    void scale(nw_run* run, double* x, double factor) const;

    // x += factor z; r -= factor w; gives r · r
    double step(nw_run* run, double* x, const double* z, double* r, const double* w, double factor);

    // r = b - A x; gives r · r
    double residual(nw_run* run, const Problem& p, double* r);

    Operator matrix;
    Preconditioner preconditioner;
    Basis basis;
    Basis second;
    double* z;  // as long as what is multiplied with
    std::vector<double> products;
    std::vector<double> factors;
    int iterations = 0;

    // Seconds that this rank spent on others since this was asked for last.
    double communication_s();

  private:
    nw::Sums sums_;
    std::int64_t n_;
    std::int64_t chunk_;
    double exchanged_s_ = 0;
};

}  // namespace krylov
