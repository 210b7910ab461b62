// SPDX-License-Identifier: BSD-3-Clause
// From blocks of rows to principal components: what all variants have in common.
#include <algorithm>
#include <cmath>
#include <exception>
#include <string>
#include <vector>

#include "pca.h"
#include "solve.h"
#include "source.h"

namespace pca {
namespace {

constexpr int kReportedComponents = 30;
constexpr std::size_t kLeastExpanded = 1024;

Moments all_moments(nw_run* run, const Variant& variant) {
    State& own = state(run);
    Moments all;
    Block block;
    for (own.source->rewind(); own.source->next(block);) {
        Moments one;
        (own.sparse ? static_cast<void (*)(nw_run*, const Block&, Moments&)>(
                          [](nw_run* r, const Block& b, Moments& m) { sparse_moments(r, b, m); })
                    : variant.moments)(run, block, one);
        merge(all, one);
    }
    return all;
}

// A few sparse rows at a time with their zeros: never the whole data.
void factor_sparse(nw_run* run, const Variant& variant, const Block& block, Factor& all) {
    const std::size_t d = block.columns;
    const std::size_t most = std::max(kLeastExpanded, 4 * d);
    std::vector<double> expanded(std::min(most, block.count) * d);
    for (std::size_t begin = 0; begin < block.count; begin += most) {
        const std::size_t count = std::min(most, block.count - begin);
        std::fill(expanded.begin(), expanded.end(), 0.0);
        for (std::size_t i = 0; i < count; ++i) {
            for (std::int64_t k = block.starts[begin + i]; k < block.ends[begin + i]; ++k) {
                expanded[i * d + static_cast<std::size_t>(block.column[k])] = block.value[k];
            }
        }
        Block some;
        some.count = count;
        some.columns = d;
        some.dense = expanded.data();
        Factor one;
        variant.factor(run, some, one);
        merge(all, one);
    }
}

Factor all_factors(nw_run* run, const Variant& variant) {
    State& own = state(run);
    Factor all;
    Block block;
    for (own.source->rewind(); own.source->next(block);) {
        if (own.sparse) {
            factor_sparse(run, variant, block, all);
            continue;
        }
        Factor one;
        variant.factor(run, block, one);
        merge(all, one);
    }
    return all;
}

Frame from_moments(nw_run* run, const Variant& variant, double* values, double* vectors) {
    const State& own = state(run);
    const std::size_t d = own.columns;
    Moments all = all_moments(run, variant);
    std::vector<double> squares(d);
    for (std::size_t j = 0; j < d; ++j) {
        squares[j] = all.cross[j * d + j];
    }
    const std::vector<double> scale = scales(own.method, squares, all.count);
    for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = 0; j < d; ++j) {
            all.cross[i * d + j] *= scale[i] * scale[j] / (all.count - 1.0);
        }
        if (own.method == Method::correlation && squares[i] > 0) {
            all.cross[i * d + i] = 1.0;
        }
    }
    variant.eigen(d, all.cross.data(), values, vectors);
    return {all.mean, scale};
}

Frame from_factor(nw_run* run, const Variant& variant, double* values, double* vectors) {
    const State& own = state(run);
    const std::size_t d = own.columns;
    Factor all = all_factors(run, variant);
    std::vector<double> squares(d, 0.0);
    for (std::size_t i = 0; i < d * d; ++i) {
        squares[i % d] += all.rows[i] * all.rows[i];
    }
    const std::vector<double> scale = scales(own.method, squares, all.count);
    if (!all.values.empty()) {
        // columns of norm 1 have a variance of 1 / (count - 1), standardised ones of 1: the values are the same
        std::copy(all.values.begin(), all.values.end(), values);
        std::copy(all.vectors.begin(), all.vectors.end(), vectors);
        return {all.mean, scale};
    }
    for (std::size_t i = 0; i < d * d; ++i) {
        all.rows[i] *= scale[i % d];
    }
    singular_jacobi(d, all.rows.data(), values, vectors);
    for (std::size_t j = 0; j < d; ++j) {
        values[j] /= all.count - 1.0;
    }
    return {all.mean, scale};
}

void report(nw_run* run, const double* values, double variance) {
    static const std::vector<std::string> kNames = [] {
        std::vector<std::string> names;
        for (int k = 1; k <= kReportedComponents; ++k) {
            names.push_back("explained_" + std::to_string(k));
        }
        return names;
    }();
    const State& own = state(run);
    for (std::size_t j = 0; variance > 0 && j < std::min<std::size_t>(own.kept, kReportedComponents); ++j) {
        nw_report(run, kNames[j].c_str(), values[j] / variance);
    }
    nw_report(run, "rows", static_cast<double>(own.rows));
    nw_report(run, "columns", static_cast<double>(own.columns));
}

}  // namespace

std::vector<double> scales(Method method, const std::vector<double>& squares, double count) {
    std::vector<double> scale(squares.size(), 1.0);
    for (std::size_t j = 0; method != Method::covariance && j < squares.size(); ++j) {
        scale[j] = squares[j] > 0 ? 1.0 / std::sqrt(squares[j] / (count - 1.0)) : 0.0;
    }
    return scale;
}

void hand_out(nw_run* run, const Frame& frame, std::size_t count, double* values, double* vectors, double variance) {
    const State& own = state(run);
    sort_and_turn(count, own.columns, values, vectors);
    std::copy_n(values, own.kept, static_cast<double*>(nw_data(run, "eigenvalues")));
    std::copy_n(vectors, own.kept * own.columns, static_cast<double*>(nw_data(run, "eigenvectors")));
    if (own.leading) {
        *static_cast<double*>(nw_data(run, "variance")) = variance;
    }
    if (own.projected > 0) {
        project(run, frame, vectors);
    }
    report(run, values, variance);
}

int analyse(nw_run* run, const Variant& variant) {
    const State& own = state(run);
    std::vector<double> values(own.columns);
    std::vector<double> vectors(own.columns * own.columns);
    try {
        const Frame frame =
            (own.method == Method::svd ? from_factor : from_moments)(run, variant, values.data(), vectors.data());
        double variance = 0;
        for (const double value : values) {
            variance += std::max(0.0, value);
        }
        hand_out(run, frame, own.columns, values.data(), vectors.data(), variance);
    } catch (const std::exception& problem) {
        return nw_fail(run, "%s", problem.what());
    }
    return 0;
}

}  // namespace pca
