// SPDX-License-Identifier: BSD-3-Clause
#include "preconditioner.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "abi/parts.h"

namespace krylov {
namespace {

template <typename T>
T* memory(nw_run* run, std::int64_t count) {
    auto* data = static_cast<T*>(
        run->memory(run, static_cast<std::size_t>(std::max<std::int64_t>(1, count)) * sizeof(T), NW_HUGE));
    if (data == nullptr) {
        throw std::runtime_error(run->error);
    }
    return data;
}

}  // namespace

Preconditioner::Preconditioner(nw_run* run, const Problem& p, const Operator& matrix)
    : kind_(p.precondition), n_(p.n), blocks_(p.blocks) {
    if (kind_ == Kind::none) {
        return;
    }
    inverse_ = memory<double>(run, n_);
    std::int64_t bad = 0;
    if (kind_ == Kind::jacobi) {
        nw::on_parts(run, n_, [&](int, std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                inverse_[i] = 0;
                for (std::int32_t k = matrix.begins()[i]; k < matrix.begins()[i + 1]; ++k) {
                    if (matrix.columns()[k] == i && matrix.values()[k] != 0) {
                        inverse_[i] = 1 / matrix.values()[k];
                    }
                }
            }
        });
        bad = std::find(inverse_, inverse_ + n_, 0.0) - inverse_;
    } else {
        place(run, matrix);
        std::vector<std::int64_t> worst(static_cast<std::size_t>(blocks_), n_);
        nw::on_parts(run, blocks_, [&](int, std::int64_t begin, std::int64_t end) {
            for (std::int64_t block = begin; block < end; ++block) {
                factorise(matrix, block_begin(static_cast<int>(block)), block_begin(static_cast<int>(block) + 1),
                          worst[static_cast<std::size_t>(block)]);
            }
        });
        bad = *std::min_element(worst.begin(), worst.end());
    }
    // all ranks end, or none
    double any = bad < n_ ? 1 : 0;
    run->largest(run, &any, 1);
    if (any > 0) {
        throw std::runtime_error(bad < n_ ? "row " + std::to_string(p.first + bad + 1) +
                                                " has nothing on its diagonal to divide by\nhint: give "
                                                "precondition=none"
                                          : "a row of another rank has nothing on its diagonal to divide by");
    }
}

// Counts what each triangle has of each row, and makes room for it.
void Preconditioner::place(nw_run* run, const Operator& matrix) {
    lower_.begins.resize(static_cast<std::size_t>(n_) + 1);
    upper_.begins.resize(static_cast<std::size_t>(n_) + 1);
    for (int block = 0; block < blocks_; ++block) {
        const std::int64_t begin = block_begin(block);
        const std::int64_t end = block_begin(block + 1);
        for (std::int64_t i = begin; i < end; ++i) {
            lower_.begins[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(lower_.entries);
            upper_.begins[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(upper_.entries);
            for (std::int32_t k = matrix.begins()[i]; k < matrix.begins()[i + 1]; ++k) {
                const std::int32_t column = matrix.columns()[k];
                lower_.entries += column >= begin && column < i ? 1 : 0;
                upper_.entries += column > i && column < end ? 1 : 0;
            }
        }
    }
    for (Triangle* triangle : {&lower_, &upper_}) {
        triangle->begins[static_cast<std::size_t>(n_)] = static_cast<std::int32_t>(triangle->entries);
        triangle->columns = memory<std::int32_t>(run, triangle->entries);
        triangle->values = memory<double>(run, triangle->entries);
    }
}

// Row by row, those above it being done: a row i loses (a_ik / u_kk) u_kj for each k before i, where it has a column j.
void Preconditioner::factorise(const Operator& matrix, std::int64_t begin, std::int64_t end, std::int64_t& bad) {
    std::vector<double*> places(static_cast<std::size_t>(end - begin), nullptr);
    const auto place_of = [&](std::int64_t column) -> double*& {
        return places[static_cast<std::size_t>(column - begin)];
    };
    for (std::int64_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::size_t>(i);
        std::int32_t below = lower_.begins[row];
        std::int32_t above = upper_.begins[row + 1];
        double diagonal = 0;
        place_of(i) = &diagonal;
        for (std::int32_t k = matrix.begins()[i]; k < matrix.begins()[i + 1]; ++k) {
            const std::int32_t column = matrix.columns()[k];
            if (column >= begin && column < i) {
                lower_.columns[below] = column;
                lower_.values[below] = matrix.values()[k];
                place_of(column) = lower_.values + below++;
            } else if (column > i && column < end) {
                --above;
                upper_.columns[above] = column;
                upper_.values[above] = matrix.values()[k];
                place_of(column) = upper_.values + above;
            } else if (column == i) {
                diagonal = matrix.values()[k];
            }
        }
        for (std::int32_t k = lower_.begins[row]; k < below; ++k) {
            const auto before = static_cast<std::size_t>(lower_.columns[k]);
            const double entry = lower_.values[k];
            for (std::int32_t m = upper_.begins[before]; m < upper_.begins[before + 1]; ++m) {
                if (double* there = place_of(upper_.columns[m]); there != nullptr) {
                    *there -= entry * upper_.values[m];
                }
            }
            lower_.values[k] = entry * inverse_[before];
            place_of(lower_.columns[k]) = nullptr;
        }
        place_of(i) = nullptr;
        if (diagonal == 0) {
            bad = i;
            return;
        }
        inverse_[i] = 1 / diagonal;
        for (std::int32_t m = upper_.begins[row]; m < upper_.begins[row + 1]; ++m) {
            upper_.values[m] *= inverse_[i];
            place_of(upper_.columns[m]) = nullptr;
        }
    }
}

void Preconditioner::solve_block(const double* r, double factor, double* z, std::int64_t begin,
                                 std::int64_t end) const {
    const std::int32_t* starts = lower_.begins.data();
    for (std::int64_t i = begin; i < end; ++i) {
        double left = factor * r[i];
        for (std::int32_t k = starts[i]; k < starts[i + 1]; ++k) {
            left -= lower_.values[k] * z[lower_.columns[k]];
        }
        z[i] = left;
    }
    starts = upper_.begins.data();
    for (std::int64_t i = end - 1; i >= begin; --i) {
        double left = z[i] * inverse_[i];
        for (std::int32_t k = starts[i]; k < starts[i + 1]; ++k) {
            left -= upper_.values[k] * z[upper_.columns[k]];
        }
        z[i] = left;
    }
}

void Preconditioner::solve(const nw_run* run, const double* r, double factor, double* z) const {
    if (kind_ == Kind::ilu) {
        nw::on_parts(run, blocks_, [&](int, std::int64_t begin, std::int64_t end) {
            for (std::int64_t block = begin; block < end; ++block) {
                solve_block(r, factor, z, block_begin(static_cast<int>(block)),
                            block_begin(static_cast<int>(block) + 1));
            }
        });
        return;
    }
    nw::on_parts(run, n_, [&](int, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            z[i] = factor * r[i] * (inverse_ != nullptr ? inverse_[i] : 1);
        }
    });
}

std::vector<std::pair<const double*, std::int64_t>> Preconditioner::read() const {
    std::vector<std::pair<const double*, std::int64_t>> all;
    for (const Triangle* triangle : {&lower_, &upper_}) {
        if (triangle->entries > 0) {
            all.emplace_back(triangle->values, triangle->entries);
            all.emplace_back(reinterpret_cast<const double*>(triangle->columns), triangle->entries / 2);
        }
    }
    if (inverse_ != nullptr) {
        all.emplace_back(inverse_, n_);
    }
    return all;
}

}  // namespace krylov
