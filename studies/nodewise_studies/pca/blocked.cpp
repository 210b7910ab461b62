// SPDX-License-Identifier: BSD-3-Clause
// One pass over the data, no copy of it: each thread takes a few rows at a time into its nearest cache, moved close to
// 0, and adds them to sums of its own, a small square of them in registers; or to a triangular factor of its own.
#include <algorithm>
#include <cmath>

#include "pca.h"
#include "solve.h"

namespace pca {
namespace {

constexpr std::size_t kRows = 64;
constexpr std::size_t kSide = 4;

std::size_t round_up(std::size_t size) { return (size + kSide - 1) / kSide * kSide; }

struct Part {
    std::vector<double> cross;
    std::vector<double> sum;
};

void add_square(const double* rows, std::size_t stride, double* cross) {
    double sums[kSide][kSide] = {};
    for (std::size_t r = 0; r < kRows; ++r) {
        const double* row = rows + r * stride;
        for (std::size_t i = 0; i < kSide; ++i) {
            for (std::size_t j = 0; j < kSide; ++j) {
                sums[i][j] += row[i] * row[j];
            }
        }
    }
    for (std::size_t i = 0; i < kSide; ++i) {
        for (std::size_t j = 0; j < kSide; ++j) {
            cross[i * stride + j] += sums[i][j];
        }
    }
}

// The same for two different groups of columns.
void add_rectangle(const double* first, const double* second, std::size_t stride, double* cross) {
    double sums[kSide][kSide] = {};
    for (std::size_t r = 0; r < kRows; ++r) {
        const double* a = first + r * stride;
        const double* b = second + r * stride;
        for (std::size_t i = 0; i < kSide; ++i) {
            for (std::size_t j = 0; j < kSide; ++j) {
                sums[i][j] += a[i] * b[j];
            }
        }
    }
    for (std::size_t i = 0; i < kSide; ++i) {
        for (std::size_t j = 0; j < kSide; ++j) {
            cross[i * stride + j] += sums[i][j];
        }
    }
}

void add_rows(const Block& block, const double* shift, std::size_t begin, std::size_t end, Part& part) {
    const std::size_t d = block.columns;
    const std::size_t stride = round_up(d);
    std::vector<double> near(kRows * stride, 0.0);
    part.cross.assign(stride * stride, 0.0);
    part.sum.assign(d, 0.0);
    for (std::size_t at = begin; at < end; at += kRows) {
        const std::size_t count = std::min(kRows, end - at);
        if (count < kRows) {
            std::fill(near.begin(), near.end(), 0.0);
        }
        for (std::size_t r = 0; r < count; ++r) {
            const double* row = block.dense + (at + r) * d;
            for (std::size_t j = 0; j < d; ++j) {
                near[r * stride + j] = row[j] - shift[j];
                part.sum[j] += near[r * stride + j];
            }
        }
        for (std::size_t i = 0; i < stride; i += kSide) {
            add_square(near.data() + i, stride, part.cross.data() + i * stride + i);
            for (std::size_t j = i + kSide; j < stride; j += kSide) {
                add_rectangle(near.data() + i, near.data() + j, stride, part.cross.data() + i * stride + j);
            }
        }
    }
}

void moments(nw_run* run, const Block& block, Moments& out) {
    const std::size_t stride = round_up(block.columns);
    const std::vector<double> shift = near_middle(block);
    std::vector<Part> parts(static_cast<std::size_t>(run->threads));
#pragma omp parallel for num_threads(run->threads) schedule(static, 1)
    for (std::size_t t = 0; t < parts.size(); ++t) {
        add_rows(block, shift.data(), block.count * t / parts.size(), block.count * (t + 1) / parts.size(), parts[t]);
    }
    for (std::size_t t = 1; t < parts.size(); ++t) {
        std::transform(parts[t].cross.begin(), parts[t].cross.end(), parts[0].cross.begin(), parts[0].cross.begin(),
                       std::plus<>());
        std::transform(parts[t].sum.begin(), parts[t].sum.end(), parts[0].sum.begin(), parts[0].sum.begin(),
                       std::plus<>());
    }
    finish_moments(block.count, block.columns, stride, shift.data(), parts[0].sum.data(), parts[0].cross.data(), out);
}

// The triangular factor of [1 | rows - shift]: its first row has the sums, the rest is the factor of the rows less
// their means, without another pass for these.
std::vector<double> factor_of(const Block& block, const double* shift, std::size_t begin, std::size_t end) {
    const std::size_t width = block.columns + 1;
    const std::size_t each = std::max(kRows, 2 * width);
    std::vector<double> stacked((width + each) * width, 0.0);
    std::vector<double> scratch(2 * width + each);
    for (std::size_t at = begin; at < end; at += each) {
        const std::size_t count = std::min(each, end - at);
        for (std::size_t r = 0; r < count; ++r) {
            const double* row = block.dense + (at + r) * block.columns;
            double* to = stacked.data() + (width + r) * width;
            to[0] = 1.0;
            for (std::size_t j = 0; j + 1 < width; ++j) {
                to[j + 1] = row[j] - shift[j];
            }
        }
        triangular_factor(stacked.data(), width + count, width, scratch.data());
    }
    stacked.resize(width * width);
    return stacked;
}

void factor(nw_run* run, const Block& block, Factor& out) {
    const std::size_t d = block.columns;
    const std::size_t width = d + 1;
    const std::vector<double> shift = near_middle(block);
    std::vector<std::vector<double>> parts(static_cast<std::size_t>(run->threads));
#pragma omp parallel for num_threads(run->threads) schedule(static, 1)
    for (std::size_t t = 0; t < parts.size(); ++t) {
        parts[t] = factor_of(block, shift.data(), block.count * t / parts.size(), block.count * (t + 1) / parts.size());
    }
    std::vector<double>& all = parts[0];
    std::vector<double> scratch(3 * width);
    for (std::size_t t = 1; t < parts.size(); ++t) {
        all.insert(all.end(), parts[t].begin(), parts[t].end());
        triangular_factor(all.data(), 2 * width, width, scratch.data());
        all.resize(width * width);
    }
    out.count = static_cast<double>(block.count);
    out.mean.resize(d);
    out.rows.resize(d * d);
    for (std::size_t j = 0; j < d; ++j) {
        // the column of ones has the norm sqrt(count), whatever its sign became
        out.mean[j] = shift[j] + all[j + 1] / all[0];
        for (std::size_t i = 0; i < d; ++i) {
            out.rows[i * d + j] = all[(i + 1) * width + j + 1];
        }
    }
}

}  // namespace

int blocked(nw_run* run) { return analyse(run, {moments, factor, eigen_tridiagonal}); }

}  // namespace pca
