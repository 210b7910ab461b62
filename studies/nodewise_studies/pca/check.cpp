// SPDX-License-Identifier: BSD-3-Clause
// Judges the result by what it must be: axes that are orthonormal, turned and sorted, whose sum of outer products,
// weighted by the eigenvalues, does to any vector what the matrix does. The matrix itself is not formed: its products
// with a few vectors are sums over the rows, which are computed once, in a pass of their own.
#include "check.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

#include "pca.h"
#include "solve.h"
#include "source.h"
#include "study.h"

namespace pca {
namespace {

constexpr std::size_t kProbes = 3;
constexpr double kTolerance = 1e-11;
constexpr double kOrthonormal = 1e-12;
// of a mean, relative to the values; of a projection, absolute, where all is 0
constexpr double kMean = 1e-14;
constexpr double kLeast = 1e-300;

// What a thread sums up in a pass.
struct Sums {
    std::vector<double> moved;  // values less the first row's
    std::vector<double> least;  // to know columns that do not vary
    std::vector<double> most;
    std::vector<double> squares;   // of deviations from the mean
    std::vector<double> products;  // of the sums of products with the probes
};

struct Pass {
    std::size_t columns;
    const double* from;     // subtracted from each row
    const double* vectors;  // the probes; null in the first pass
    std::size_t probes = 0;
};

void take_row(const Pass& pass, const double* row, double* moved, Sums& to) {
    const std::size_t d = pass.columns;
    for (std::size_t j = 0; j < d; ++j) {
        moved[j] = row[j] - pass.from[j];
    }
    if (pass.vectors == nullptr) {
        for (std::size_t j = 0; j < d; ++j) {
            to.moved[j] += moved[j];
            to.least[j] = std::min(to.least[j], row[j]);
            to.most[j] = std::max(to.most[j], row[j]);
        }
        return;
    }
    for (std::size_t j = 0; j < d; ++j) {
        to.squares[j] += moved[j] * moved[j];
    }
    for (std::size_t p = 0; p < pass.probes; ++p) {
        double along[4] = {};
        const double* vector = pass.vectors + p * d;
        std::size_t j = 0;
        for (; j + 4 <= d; j += 4) {
            for (std::size_t k = 0; k < 4; ++k) {
                along[k] += moved[j + k] * vector[j + k];
            }
        }
        for (; j < d; ++j) {
            along[0] += moved[j] * vector[j];
        }
        const double share = (along[0] + along[1]) + (along[2] + along[3]);
        double* product = to.products.data() + p * d;
        for (std::size_t k = 0; k < d; ++k) {
            product[k] += share * moved[k];
        }
    }
}

void take_rows(const Pass& pass, const Block& block, std::size_t begin, std::size_t end, Sums& to) {
    std::vector<double> moved(pass.columns);
    std::vector<double> row(pass.columns, 0.0);
    for (std::size_t i = begin; i < end; ++i) {
        if (block.dense != nullptr) {
            take_row(pass, block.dense + i * pass.columns, moved.data(), to);
            continue;
        }
        for (std::int64_t k = block.starts[i]; k < block.ends[i]; ++k) {
            row[static_cast<std::size_t>(block.column[k])] = block.value[k];
        }
        take_row(pass, row.data(), moved.data(), to);
        for (std::int64_t k = block.starts[i]; k < block.ends[i]; ++k) {
            row[static_cast<std::size_t>(block.column[k])] = 0.0;
        }
    }
}

Sums no_sums(std::size_t d, std::size_t probes) {
    const double infinity = std::numeric_limits<double>::infinity();
    return {std::vector<double>(d, 0.0), std::vector<double>(d, infinity), std::vector<double>(d, -infinity),
            std::vector<double>(d, 0.0), std::vector<double>(probes * d, 0.0)};
}

Sums sum_all(nw_run* run, const Pass& pass) {
    const std::size_t d = pass.columns;
    const auto threads = static_cast<std::size_t>(run->threads);
    std::vector<Sums> parts(threads, no_sums(d, pass.probes));
    Source& source = *state(run).source;
    Block block;
    for (source.rewind(); source.next(block);) {
#pragma omp parallel for num_threads(run->threads) schedule(static, 1)
        for (std::size_t t = 0; t < threads; ++t) {
            take_rows(pass, block, block.count * t / threads, block.count * (t + 1) / threads, parts[t]);
        }
    }
    Sums all = no_sums(d, pass.probes);
    for (const Sums& part : parts) {
        for (std::size_t j = 0; j < d; ++j) {
            all.moved[j] += part.moved[j];
            all.least[j] = std::min(all.least[j], part.least[j]);
            all.most[j] = std::max(all.most[j], part.most[j]);
            all.squares[j] += part.squares[j];
        }
        for (std::size_t j = 0; j < pass.probes * d; ++j) {
            all.products[j] += part.products[j];
        }
    }
    return all;
}

std::vector<double> first_row(nw_run* run, std::size_t d) {
    Source& source = *state(run).source;
    Block block;
    source.rewind();
    source.next(block);
    std::vector<double> row(d, 0.0);
    if (block.dense != nullptr) {
        std::copy_n(block.dense, d, row.begin());
    } else {
        for (std::int64_t k = block.starts[0]; k < block.ends[0]; ++k) {
            row[static_cast<std::size_t>(block.column[k])] = block.value[k];
        }
    }
    return row;
}

// The probes, the matrix's products with them, and its trace, in this order.
std::vector<double> expect(nw_run* run) {
    const State& own = state(run);
    const std::size_t d = own.columns;
    const auto n = static_cast<double>(own.rows);
    const std::vector<double> first = first_row(run, d);
    const Sums sums = sum_all(run, {d, first.data(), nullptr, 0});
    std::vector<double> mean(d);
    std::vector<double> probes(kProbes * d);
    for (std::size_t j = 0; j < d; ++j) {
        const bool constant = sums.least[j] == sums.most[j];
        mean[j] = constant ? first[j] : first[j] + sums.moved[j] / n;
        // of about the same size after division by the deviations
        const double width = constant ? 0.0 : 1.0 / (sums.most[j] - sums.least[j]);
        for (std::size_t p = 0; p < kProbes; ++p) {
            const auto noise = static_cast<double>((j * 2654435761U + (p + 1) * 40503U * (j + 7)) % 1021U) / 1021.0;
            probes[p * d + j] = (own.method == Method::covariance ? 1.0 : width) * (noise + (noise < 0.5 ? -1.2 : 0.2));
        }
    }
    const Sums products = sum_all(run, {d, mean.data(), probes.data(), kProbes});
    double trace = 0;
    std::vector<double> expected(2 * kProbes * d + 1);
    state(run).frame = {mean, std::vector<double>(d)};
    for (std::size_t j = 0; j < d; ++j) {
        const double variance = products.squares[j] / (n - 1.0);
        const double deviation = own.method == Method::covariance ? 1.0 : std::sqrt(variance);
        state(run).frame.scale[j] = deviation > 0 ? 1.0 / deviation : 0.0;
        trace += own.method == Method::covariance ? variance : (variance > 0 ? 1.0 : 0.0);
        for (std::size_t p = 0; p < kProbes; ++p) {
            const double product = products.products[p * d + j] / (n - 1.0);
            expected[p * d + j] = probes[p * d + j] * deviation;
            expected[(kProbes + p) * d + j] = deviation > 0 ? product / deviation : 0.0;
        }
    }
    expected.back() = trace;
    return expected;
}

double dot(const double* a, const double* b, std::size_t size) {
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

int check_axes(nw_run* run, const double* values, const double* vectors) {
    const std::size_t d = state(run).columns;
    const std::size_t kept = state(run).kept;
    for (std::size_t k = 0; k < kept; ++k) {
        const double* axis = vectors + k * d;
        if (!(values[k] >= 0.0 && std::isfinite(values[k])) || (k > 0 && values[k] > values[k - 1])) {
            return nw_fail(run, "eigenvalue %zu is %.17g, not sorted", k, values[k]);
        }
        if (!(axis[leading_component(axis, d)] > 0.0)) {
            return nw_fail(run, "eigenvector %zu is turned the other way", k);
        }
    }
    std::size_t wrong = kept;
#pragma omp parallel for num_threads(run->threads) schedule(dynamic, 8) reduction(min : wrong)
    for (std::size_t k = 0; k < kept; ++k) {
        for (std::size_t i = 0; i <= k; ++i) {
            const double product = dot(vectors + k * d, vectors + i * d, d) - (i == k ? 1.0 : 0.0);
            if (!(std::fabs(product) <= kOrthonormal * (1.0 + 0.01 * static_cast<double>(d)))) {
                wrong = std::min(wrong, k);
            }
        }
    }
    return wrong < kept ? nw_fail(run, "eigenvector %zu is not orthonormal to those before", wrong) : 0;
}

int check_products(nw_run* run, const double* values, const double* vectors) {
    const std::size_t d = state(run).columns;
    const std::vector<double>& expected = state(run).expected;
    double trace = 0;
    for (std::size_t k = 0; k < d; ++k) {
        trace += values[k];
    }
    if (!(std::fabs(trace - expected.back()) <= kTolerance * expected.back())) {
        return nw_fail(run, "the eigenvalues' sum is %.17g, the variances' is %.17g", trace, expected.back());
    }
    for (std::size_t p = 0; p < kProbes; ++p) {
        const double* probe = expected.data() + p * d;
        const double* product = expected.data() + (kProbes + p) * d;
        std::vector<double> made(d, 0.0);
        for (std::size_t k = 0; k < d; ++k) {
            const double share = values[k] * dot(vectors + k * d, probe, d);
            for (std::size_t j = 0; j < d; ++j) {
                made[j] += share * vectors[k * d + j];
            }
        }
        const double allowed = kTolerance * values[0] * std::sqrt(dot(probe, probe, d));
        for (std::size_t j = 0; j < d; ++j) {
            if (!(std::fabs(made[j] - product[j]) <= allowed)) {
                return nw_fail(run, "component %zu of the matrix times a vector is %.17g, by the result %.17g", j,
                               product[j], made[j]);
            }
        }
    }
    return 0;
}

// One row's values along the axes, in the plainest way; the first component that is off, or `projected`.
std::size_t wrong_component(const State& own, const double* row, const double* vectors, const double* given) {
    for (std::size_t k = 0; k < own.projected; ++k) {
        long double sum = 0;
        double allowed = 0;
        for (std::size_t j = 0; j < own.columns; ++j) {
            const double share = vectors[k * own.columns + j] * own.frame.scale[j];
            sum += static_cast<long double>(row[j] - own.frame.mean[j]) * share;
            // a mean has the digits that its size leaves
            allowed += std::fabs(share) * (kTolerance * std::fabs(row[j] - own.frame.mean[j]) +
                                           kMean * (std::fabs(own.frame.mean[j]) + std::fabs(row[j])));
        }
        if (!(std::fabs(given[k] - static_cast<double>(sum)) <= allowed + kLeast)) {
            return k;
        }
    }
    return own.projected;
}

int check_projection(nw_run* run, const double* vectors) {
    const State& own = state(run);
    const std::size_t d = own.columns;
    const auto* given = static_cast<const double*>(nw_data(run, "projection"));
    std::size_t before = 0;
    std::size_t wrong = own.rows;
    Block block;
    for (own.source->rewind(); own.source->next(block); before += block.count) {
#pragma omp parallel for num_threads(run->threads) schedule(static) reduction(min : wrong)
        for (std::size_t i = 0; i < block.count; ++i) {
            std::vector<double> row(d, 0.0);
            if (block.dense != nullptr) {
                std::copy_n(block.dense + i * d, d, row.begin());
            } else {
                for (std::int64_t k = block.starts[i]; k < block.ends[i]; ++k) {
                    row[static_cast<std::size_t>(block.column[k])] = block.value[k];
                }
            }
            if (wrong_component(own, row.data(), vectors, given + (before + i) * own.projected) < own.projected) {
                wrong = std::min(wrong, before + i);
            }
        }
    }
    return wrong < own.rows ? nw_fail(run, "row %zu is not what it is along the axes", wrong) : 0;
}

}  // namespace

std::vector<double> times_matrix(nw_run* run, const std::vector<double>& vectors) {
    const State& own = state(run);
    const std::size_t d = own.columns;
    std::vector<double> scaled(vectors);
    for (std::size_t i = 0; i < scaled.size(); ++i) {
        scaled[i] *= own.frame.scale[i % d];
    }
    std::vector<double> made = sum_all(run, {d, own.frame.mean.data(), scaled.data(), vectors.size() / d}).products;
    for (std::size_t i = 0; i < made.size(); ++i) {
        made[i] *= own.frame.scale[i % d] / (static_cast<double>(own.rows) - 1.0);
    }
    return made;
}

int check(nw_run* run) {
    const auto* values = static_cast<const double*>(nw_data(run, "eigenvalues"));
    const auto* vectors = static_cast<const double*>(nw_data(run, "eigenvectors"));
    if (state(run).expected.empty()) {
        try {
            state(run).expected = expect(run);
        } catch (const std::exception& problem) {
            return nw_fail(run, "%s", problem.what());
        }
    }
    const auto judge = state(run).leading ? check_leading : check_products;
    if (check_axes(run, values, vectors) != 0 || judge(run, values, vectors) != 0) {
        return 1;
    }
    return state(run).projected > 0 ? check_projection(run, vectors) : 0;
}

}  // namespace pca
