// SPDX-License-Identifier: BSD-3-Clause
// The fastest variant. Sums of products: one pass over the data, no copy. Singular values: a second pass turns the
// standardised rows by the axes that the first found, which is exact whatever these are, and makes the columns nearly
// orthogonal; the products of these columns lose no digits of small singular values, as those of the first pass do.
#include "simd.h"

#include <algorithm>
#include <cmath>

#include "numbers.h"
#include "pca.h"
#include "solve.h"
#include "study.h"

namespace pca {
namespace {

// Sums over all rows: each thread its neighbouring rows, then the threads' sums in their order.
struct Totals {
    Numbers sum;
    Numbers cross;
};

Totals sum_rows(const nw_run* run, const SumTask& whole) {
    const auto threads = static_cast<std::size_t>(run->threads);
    const std::size_t square = whole.stride * whole.stride;
    std::vector<Totals> parts(threads);
#pragma omp parallel for num_threads(run->threads) schedule(static, 1)
    for (std::size_t t = 0; t < threads; ++t) {
        parts[t] = {zeros(whole.stride), zeros(square)};
        const Numbers scratch = zeros(simd_scratch(whole.stride));
        SumTask task = whole;
        const std::size_t begin = whole.count * t / threads;
        task.rows = whole.rows + begin * whole.columns;
        task.count = whole.count * (t + 1) / threads - begin;
        task.sum = parts[t].sum.get();
        task.cross = parts[t].cross.get();
        task.scratch = scratch.get();
        simd_sum(task);
    }
    for (std::size_t t = 1; t < threads; ++t) {
        for (std::size_t i = 0; i < square; ++i) {
            parts[0].cross[i] += parts[t].cross[i];
        }
        for (std::size_t j = 0; j < whole.stride; ++j) {
            parts[0].sum[j] += parts[t].sum[j];
        }
    }
    return std::move(parts[0]);
}

void sum_moved(const nw_run* run, const Block& block, const std::vector<double>& shift, Moments& out) {
    const std::size_t d = block.columns;
    const std::size_t stride = simd_stride(d);
    const Totals all = sum_rows(
        run, {block.dense, block.count, d, stride, shift.data(), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr});
    finish_moments(block.count, d, stride, shift.data(), all.sum.get(), all.cross.get(), out);
}

void moments(nw_run* run, const Block& block, Moments& out) { sum_moved(run, block, near_middle(block), out); }

// Products of the columns that the rows have when they are standardised and turned by the axes (as columns).
std::vector<double> turned_products(const nw_run* run, const Block& block, const std::vector<double>& shift,
                                    const Moments& sums, const std::vector<double>& scale,
                                    const std::vector<double>& axes) {
    const std::size_t d = block.columns;
    const std::size_t stride = simd_stride(d);
    const Numbers across = zeros(stride * stride);
    std::vector<double> centre(d);
    for (std::size_t i = 0; i < d; ++i) {
        centre[i] = (sums.mean[i] - shift[i]) * scale[i];
        for (std::size_t k = 0; k < d; ++k) {
            across[i * stride + k] = axes[k * d + i];
        }
    }
    const Totals all = sum_rows(run, {block.dense, block.count, d, stride, shift.data(), nullptr, nullptr, scale.data(),
                                      centre.data(), across.get(), nullptr});
    std::vector<double> products(d * d);
    for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = i; j < d; ++j) {
            products[i * d + j] = all.cross[i * stride + j];
            products[j * d + i] = all.cross[i * stride + j];
        }
    }
    return products;
}

void factor(nw_run* run, const Block& block, Factor& out) {
    const std::size_t d = block.columns;
    const std::vector<double> shift = near_middle(block);
    Moments sums;
    sum_moved(run, block, shift, sums);
    std::vector<double> deviation(d);
    std::vector<double> scale(d);
    for (std::size_t j = 0; j < d; ++j) {
        deviation[j] = std::sqrt(sums.cross[j * d + j]);
        scale[j] = deviation[j] > 0 ? 1.0 / deviation[j] : 0.0;
    }
    for (std::size_t i = 0; i < d * d; ++i) {
        sums.cross[i] *= scale[i / d] * scale[i % d];
    }
    std::vector<double> axes(d * d);
    std::vector<double> values(d);
    eigen_tridiagonal(d, sums.cross.data(), values.data(), axes.data());
    std::vector<double> products = turned_products(run, block, shift, sums, scale, axes);
    std::vector<double> turn(d * d);
    out.values.resize(d);
    eigen_jacobi(d, products.data(), out.values.data(), turn.data());
    out.vectors.assign(d * d, 0.0);
    for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t k = 0; k < d; ++k) {
            for (std::size_t j = 0; j < d; ++j) {
                out.vectors[i * d + j] += turn[i * d + k] * axes[k * d + j];
            }
        }
    }
    out.count = static_cast<double>(block.count);
    out.mean = sums.mean;
    out.rows.resize(d * d);
    for (std::size_t i = 0; i < d * d; ++i) {
        out.rows[i] = std::sqrt(std::max(0.0, out.values[i / d])) * out.vectors[i] * deviation[i % d];
    }
}

}  // namespace

int simd(nw_run* run) { return analyse(run, {moments, factor, eigen_tridiagonal}); }

void simd_work(const nw_run* run, nw_work* out) {
    work(run, out);
    const State& own = state(run);
    if (own.method == Method::svd && !own.sparse) {
        // turning the rows is as much again as the products of two passes
        const auto d = static_cast<double>(own.columns);
        const auto n = static_cast<double>(own.rows);
        out->flops = n * (2.0 * d * (d + 1.0) + 2.0 * d * d);
        out->bytes_read = 2.0 * n * d * 8.0;
        out->bytes_written = 0.0;
        add_projection(own, out);
    }
}

}  // namespace pca
