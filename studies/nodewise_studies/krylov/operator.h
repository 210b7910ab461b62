// SPDX-License-Identifier: BSD-3-Clause
// This rank's rows as they are multiplied with: columns by their place here, those of other ranks behind its own.
#pragma once

#include <cstdint>
#include <vector>

#include "problem.h"

namespace krylov {

// Elements of a vector that other ranks have: which, and who wants which of ours.
class Halo {
  public:
    Halo() = default;
    // `ghosts`: the columns of others that are needed, ascending. Called by all ranks together.
    Halo(nw_run* run, const Problem& p, const std::vector<std::int32_t>& ghosts);

    // Gets the others' elements into `vector` behind the `n` own ones, and gives them theirs.
    void refresh(nw_run* run, double* vector, std::int64_t n);

    [[nodiscard]] double seconds() const { return seconds_; }

  private:
    // What goes to one rank and comes from another, in one step of a ring.
    struct Step {
        int to;
        int from;
        std::vector<std::int32_t> wanted;  // own elements that `to` wants
        std::int64_t begin;                // of what comes, among the ghosts
        std::int64_t count;
    };
    std::vector<Step> steps_;
    std::vector<double> packed_;
    double seconds_ = 0;
};

class Operator {
  public:
    Operator(nw_run* run, const Problem& p);

    [[nodiscard]] std::int64_t rows() const { return rows_; }
    // Elements of a vector that is multiplied with, the others' behind the own.
    [[nodiscard]] std::int64_t width() const { return rows_ + ghosts_; }
    [[nodiscard]] const std::int32_t* begins() const { return begins_.data(); }
    [[nodiscard]] const std::int32_t* columns() const { return columns_; }
    [[nodiscard]] const double* values() const { return values_; }

    void refresh(nw_run* run, double* z) { halo_.refresh(run, z, rows_); }

    // w = A z, rows `begin` to `end`; w begins with row `begin`.
    void multiply(const double* z, double* w, std::int64_t begin, std::int64_t end) const;

    // Seconds that this rank has spent in exchanges.
    [[nodiscard]] double communication_s() const { return halo_.seconds(); }

  private:
    std::int64_t rows_;
    std::int64_t ghosts_ = 0;
    std::vector<std::int32_t> begins_;
    std::int32_t* columns_ = nullptr;
    const double* values_;
    Halo halo_;
};

}  // namespace krylov
