// SPDX-License-Identifier: BSD-3-Clause
// Sums of rows: of sparse ones, and of one sum with another.
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "pca.h"
#include "solve.h"

namespace pca {
namespace {

// Which columns a thread's rows have stored, how often.
std::vector<std::int64_t> stored_in(const Block& block, std::size_t begin, std::size_t end) {
    std::vector<std::int64_t> stored(block.columns, 0);
    for (std::size_t i = begin; i < end; ++i) {
        for (std::int64_t k = block.starts[i]; k < block.ends[i]; ++k) {
            ++stored[static_cast<std::size_t>(block.column[k])];
        }
    }
    return stored;
}

// A column that is stored in every row may be far from 0, and is moved by its first value; any other has zeros, so
// that its variance is not small compared with its mean.
std::vector<double> shift_of(const nw_run* run, const Block& block) {
    std::vector<std::int64_t> stored(block.columns, 0);
#pragma omp parallel num_threads(run->threads)
    {
        const auto thread = static_cast<std::size_t>(omp_get_thread_num());
        const auto threads = static_cast<std::size_t>(omp_get_num_threads());
        const auto mine = stored_in(block, block.count * thread / threads, block.count * (thread + 1) / threads);
#pragma omp critical
        for (std::size_t j = 0; j < block.columns; ++j) {
            stored[j] += mine[j];
        }
    }
    std::vector<double> shift(block.columns, 0.0);
    for (std::int64_t k = block.starts[0]; k < block.ends[0]; ++k) {
        const auto j = static_cast<std::size_t>(block.column[k]);
        shift[j] = stored[j] == static_cast<std::int64_t>(block.count) ? block.value[k] : 0.0;
    }
    return shift;
}

// A thread's sums of products above the diagonal, and of values.
struct Part {
    std::vector<double> cross;
    std::vector<double> sum;
};

void add_rows(const Block& block, const std::vector<double>& shift, std::size_t begin, std::size_t end, Part& part) {
    const std::size_t d = block.columns;
    part.cross.assign(d * d, 0.0);
    part.sum.assign(d, 0.0);
    std::vector<double> moved(d);
    for (std::size_t i = begin; i < end; ++i) {
        const std::int32_t* column = block.column + block.starts[i];
        const double* value = block.value + block.starts[i];
        const auto stored = static_cast<std::size_t>(block.ends[i] - block.starts[i]);
        for (std::size_t a = 0; a < stored; ++a) {
            moved[a] = value[a] - shift[static_cast<std::size_t>(column[a])];
            part.sum[static_cast<std::size_t>(column[a])] += moved[a];
        }
        for (std::size_t a = 0; a < stored; ++a) {
            double* row = part.cross.data() + static_cast<std::size_t>(column[a]) * d;
            for (std::size_t b = a; b < stored; ++b) {
                row[column[b]] += moved[a] * moved[b];
            }
        }
    }
}

// The move of means from one sum of rows to another, and its weight in the sum of both.
std::vector<double> move_means(double count, std::vector<double>& mean, double more, const std::vector<double>& other,
                               double& weight) {
    std::vector<double> delta(mean.size());
    for (std::size_t j = 0; j < mean.size(); ++j) {
        delta[j] = other[j] - mean[j];
        mean[j] += delta[j] * (more / (count + more));
    }
    weight = count * more / (count + more);
    return delta;
}

}  // namespace

void sparse_moments(const nw_run* run, const Block& block, Moments& out) {
    const std::size_t d = block.columns;
    const std::vector<double> shift = shift_of(run, block);
    std::vector<Part> parts(static_cast<std::size_t>(run->threads));
#pragma omp parallel for num_threads(run->threads) schedule(static, 1)
    for (std::size_t t = 0; t < parts.size(); ++t) {
        add_rows(block, shift, block.count * t / parts.size(), block.count * (t + 1) / parts.size(), parts[t]);
    }
    for (std::size_t t = 1; t < parts.size(); ++t) {
        for (std::size_t i = 0; i < d * d; ++i) {
            parts[0].cross[i] += parts[t].cross[i];
        }
        for (std::size_t j = 0; j < d; ++j) {
            parts[0].sum[j] += parts[t].sum[j];
        }
    }
    finish_moments(block.count, d, d, shift.data(), parts[0].sum.data(), parts[0].cross.data(), out);
}

void finish_moments(std::size_t count, std::size_t columns, std::size_t stride, const double* shift, const double* sum,
                    const double* cross, Moments& out) {
    out.count = static_cast<double>(count);
    out.mean.resize(columns);
    out.cross.resize(columns * columns);
    for (std::size_t i = 0; i < columns; ++i) {
        out.mean[i] = shift[i] + sum[i] / out.count;
        for (std::size_t j = i; j < columns; ++j) {
            const double value = cross[i * stride + j] - sum[i] * (sum[j] / out.count);
            out.cross[i * columns + j] = value;
            out.cross[j * columns + i] = value;
        }
        out.cross[i * columns + i] = std::max(0.0, out.cross[i * columns + i]);
    }
}

std::vector<double> near_middle(const Block& block) {
    constexpr std::size_t kMost = 256;
    const std::size_t d = block.columns;
    const std::size_t looked_at = std::min(block.count, kMost);
    std::vector<double> sum(d, 0.0);
    for (std::size_t k = 0; k < looked_at; ++k) {
        const double* row = block.dense + block.count * k / looked_at * d;
        for (std::size_t j = 0; j < d; ++j) {
            sum[j] += row[j] - block.dense[j];
        }
    }
    for (std::size_t j = 0; j < d; ++j) {
        sum[j] = block.dense[j] + sum[j] / static_cast<double>(looked_at);
    }
    return sum;
}

void merge(Moments& sum, const Moments& more) {
    if (sum.count == 0) {
        sum = more;
        return;
    }
    const std::size_t d = sum.mean.size();
    double weight = 0;
    const std::vector<double> delta = move_means(sum.count, sum.mean, more.count, more.mean, weight);
    for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = 0; j < d; ++j) {
            sum.cross[i * d + j] += more.cross[i * d + j] + weight * delta[i] * delta[j];
        }
    }
    sum.count += more.count;
}

void merge(Factor& sum, const Factor& more) {
    if (sum.count == 0) {
        sum = more;
        return;
    }
    const std::size_t d = sum.mean.size();
    double weight = 0;
    const std::vector<double> delta = move_means(sum.count, sum.mean, more.count, more.mean, weight);
    std::vector<double> stacked(sum.rows);
    stacked.insert(stacked.end(), more.rows.begin(), more.rows.end());
    for (const double x : delta) {
        stacked.push_back(std::sqrt(weight) * x);
    }
    std::vector<double> scratch(stacked.size() / d + d);
    triangular_factor(stacked.data(), stacked.size() / d, d, scratch.data());
    std::copy_n(stacked.begin(), d * d, sum.rows.begin());
    sum.count += more.count;
    sum.values.clear();
    sum.vectors.clear();
}

}  // namespace pca
