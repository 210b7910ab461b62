// SPDX-License-Identifier: BSD-3-Clause
// The straightforward variant: means, a centred copy, its sums of products in plain loops or its triangular factor by
// Householder reflections, and Jacobi rotations.
#include <algorithm>

#include "pca.h"
#include "solve.h"

namespace pca {
namespace {

// Each column's mean; by its deviations from the first row, so that large values that hardly vary keep their digits.
std::vector<double> means(const nw_run* run, const Block& block) {
    const std::size_t d = block.columns;
    std::vector<double> mean(d);
    double* sum = mean.data();
#pragma omp parallel for num_threads(run->threads) schedule(static) reduction(+ : sum[ : d])
    for (std::size_t i = 0; i < block.count; ++i) {
        for (std::size_t j = 0; j < d; ++j) {
            sum[j] += block.dense[i * d + j] - block.dense[j];
        }
    }
    for (std::size_t j = 0; j < d; ++j) {
        mean[j] = block.dense[j] + mean[j] / static_cast<double>(block.count);
    }
    return mean;
}

void centre(const nw_run* run, const Block& block, const std::vector<double>& mean, double* copy) {
#pragma omp parallel for num_threads(run->threads) schedule(static)
    for (std::size_t i = 0; i < block.count; ++i) {
        for (std::size_t j = 0; j < block.columns; ++j) {
            copy[i * block.columns + j] = block.dense[i * block.columns + j] - mean[j];
        }
    }
}

void moments(nw_run* run, const Block& block, Moments& out) {
    const std::size_t d = block.columns;
    double* copy = state(run).copy;
    out.count = static_cast<double>(block.count);
    out.mean = means(run, block);
    centre(run, block, out.mean, copy);
    std::vector<std::vector<double>> parts(static_cast<std::size_t>(run->threads));
#pragma omp parallel for num_threads(run->threads) schedule(static, 1)
    for (std::size_t t = 0; t < parts.size(); ++t) {
        parts[t].assign(d * d, 0.0);
        double* cross = parts[t].data();
        for (std::size_t r = block.count * t / parts.size(); r < block.count * (t + 1) / parts.size(); ++r) {
            const double* row = copy + r * d;
            for (std::size_t i = 0; i < d; ++i) {
                for (std::size_t j = i; j < d; ++j) {
                    cross[i * d + j] += row[i] * row[j];
                }
            }
        }
    }
    out.cross.assign(d * d, 0.0);
    for (const std::vector<double>& part : parts) {
        for (std::size_t i = 0; i < d; ++i) {
            for (std::size_t j = i; j < d; ++j) {
                out.cross[i * d + j] += part[i * d + j];
                out.cross[j * d + i] = out.cross[i * d + j];
            }
        }
    }
}

void factor(nw_run* run, const Block& block, Factor& out) {
    const std::size_t d = block.columns;
    double* copy = state(run).copy;
    out.count = static_cast<double>(block.count);
    out.mean = means(run, block);
    centre(run, block, out.mean, copy);
    std::vector<double> scratch(block.count + d);
    triangular_factor(copy, block.count, d, scratch.data());
    out.rows.assign(d * d, 0.0);
    std::copy_n(copy, std::min(block.count, d) * d, out.rows.begin());
}

}  // namespace

int prepare_plain(nw_run* run) {
    State& own = state(run);
    const std::size_t rows =
        std::max<std::size_t>(std::min(own.block_rows, own.rows), own.sparse ? 4 * own.columns : 1);
    own.copy = static_cast<double*>(
        run->memory(run, std::max<std::size_t>(rows, 1024) * own.columns * sizeof(double), NW_HUGE));
    return own.copy == nullptr ? 1 : 0;
}

int plain(nw_run* run) { return analyse(run, {moments, factor, eigen_jacobi}); }

}  // namespace pca
