// SPDX-License-Identifier: BSD-3-Clause
// What a vector is divided by before the matrix multiplies it: nothing, the diagonal, or incomplete factors of blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "operator.h"
#include "problem.h"

namespace krylov {

// Block Jacobi: of each block of neighbouring rows its own ILU(0), that is L U with entries only where the matrix has
// some (Meijerink and van der Vorst 1977, doi 10.1090/S0025-5718-1977-0438681-4), or the diagonal.
class Preconditioner {
  public:
    // Raises runtime_error where a row has no pivot.
    Preconditioner(nw_run* run, const Problem& p, const Operator& matrix);

    // z = M⁻¹ (factor r), of this rank's rows.
    void solve(const nw_run* run, const double* r, double factor, double* z) const;

    // What is read of the factors in a solve.
    [[nodiscard]] std::vector<std::pair<const double*, std::int64_t>> read() const;

  private:
    // Triangles, row by row: those of L below the diagonal; those of U above it, divided by the diagonal, from the last
    // column to the first, so that the one that is known last is needed last.
    struct Triangle {
        std::vector<std::int32_t> begins;
        std::int32_t* columns = nullptr;
        double* values = nullptr;
        std::int64_t entries = 0;
    };
    void place(nw_run* run, const Operator& matrix);
    void factorise(const Operator& matrix, std::int64_t begin, std::int64_t end, std::int64_t& bad);
    void solve_block(const double* r, double factor, double* z, std::int64_t begin, std::int64_t end) const;
    [[nodiscard]] std::int64_t block_begin(int block) const {
        return static_cast<std::int64_t>(nw_begin(static_cast<std::uint64_t>(n_), block, blocks_));
    }

    Kind kind_;
    std::int64_t n_;
    int blocks_;
    Triangle lower_;
    Triangle upper_;
    double* inverse_ = nullptr;  // of the diagonal, or of U's
};

}  // namespace krylov
