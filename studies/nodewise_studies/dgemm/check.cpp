// SPDX-License-Identifier: BSD-3-Clause
// Is it the product? C x must be alpha op(A) (op(B) x) + beta C0 x for vectors x of random signs. One wrong element
// shows in its row whatever the signs are, several can only hide behind each other if the signs agree, in each of the
// vectors. The sum of the absolute terms bounds what rounding may do.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gemm.h"
#include "study.h"

namespace dgemm {
namespace {

constexpr int kVectors = 3;

// Three sums with signs and one of absolute values, for an element of a vector.
struct Sums {
    double with_sign[kVectors];
    double absolute;
};

using Vector = std::vector<Sums>;

struct Matrix {
    const double* data;
    std::int64_t rows, columns;
    std::int64_t across, along;  // from one row, from one column to the next
};

double sign(std::uint64_t seed, std::uint64_t at, std::uint64_t which) {
    return (nw_random(seed, at * 4 + which) >> 63U) != 0 ? 1.0 : -1.0;
}

// y += factor M x, for rows `begin` to `end`. Goes along what lies side by side.
void add_product(const Matrix& matrix, double factor, const Vector& x, Vector& y, std::int64_t begin,
                 std::int64_t end) {
    const auto add = [&](std::int64_t i, std::int64_t j) {
        const double value = factor * matrix.data[i * matrix.across + j * matrix.along];
        Sums& to = y[static_cast<std::size_t>(i)];
        const Sums& from = x[static_cast<std::size_t>(j)];
        for (int v = 0; v < kVectors; ++v) {
            to.with_sign[v] += value * from.with_sign[v];
        }
        to.absolute += std::fabs(value) * from.absolute;
    };
    if (matrix.along == 1) {
        for (std::int64_t i = begin; i < end; ++i) {
            for (std::int64_t j = 0; j < matrix.columns; ++j) {
                add(i, j);
            }
        }
        return;
    }
    for (std::int64_t j = 0; j < matrix.columns; ++j) {
        for (std::int64_t i = begin; i < end; ++i) {
            add(i, j);
        }
    }
}

void add_product(const nw_run* run, const Matrix& matrix, double factor, const Vector& x, Vector& y) {
    constexpr std::int64_t kRows = 256;
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t i = 0; i < matrix.rows; i += kRows) {
        add_product(matrix, factor, x, y, i, std::min(matrix.rows, i + kRows));
    }
}

// Whether what lies between the columns is as it was, to the last bit.
bool padding_is_untouched(const Problem& p, const double* before) {
    const auto same = [&](std::int64_t from, std::int64_t to) {
        return std::memcmp(before + from, p.c + from, static_cast<std::size_t>(to - from) * sizeof(double)) == 0;
    };
    for (std::int64_t j = 0; j < p.n; ++j) {
        if (!same(j * p.ldc + p.m, (j + 1) * p.ldc)) {
            return false;
        }
    }
    return p.n > 0 || same(0, p.ldc);
}

// Where nothing is multiplied, each element has one right value.
int check_scaled(nw_run* run, const Problem& p, const double* before) {
    for (std::int64_t j = 0; j < p.n; ++j) {
        for (std::int64_t i = 0; i < p.m; ++i) {
            const std::int64_t at = i + j * p.ldc;
            const double want = p.beta == 0 ? 0 : p.beta * before[at];
            if (p.c[at] != want) {
                return nw_fail(run, "C(%lld, %lld) is %.17g, not %.17g", static_cast<long long>(i),
                               static_cast<long long>(j), p.c[at], want);
            }
        }
    }
    return 0;
}

}  // namespace

int check(nw_run* run) {
    const Problem p = problem(run);
    const auto* before = static_cast<const double*>(nw_data(run, "C0"));
    if (!padding_is_untouched(p, before)) {
        return nw_fail(run, "C was written beyond its rows");
    }
    if (p.only_scales()) {
        return check_scaled(run, p, before);
    }
    const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
    Vector x(size(p.n));
    for (std::size_t j = 0; j < x.size(); ++j) {
        for (std::size_t v = 0; v < kVectors; ++v) {
            x[j].with_sign[v] = sign(run->seed, j, v);
        }
        x[j].absolute = 1;
    }
    Vector want(size(p.m));
    Vector got(size(p.m));
    Vector inner(size(p.k));
    add_product(run, {p.b, p.k, p.n, p.transposed_b ? p.ldb : 1, p.transposed_b ? 1 : p.ldb}, 1, x, inner);
    add_product(run, {p.a, p.m, p.k, p.transposed_a ? p.lda : 1, p.transposed_a ? 1 : p.lda}, p.alpha, inner, want);
    if (p.beta != 0) {
        add_product(run, {before, p.m, p.n, 1, p.ldc}, p.beta, x, want);
    }
    add_product(run, {p.c, p.m, p.n, 1, p.ldc}, 1, x, got);
    // rounding errors add up like steps in random directions; the factor leaves room
    const double steps = 8 * std::sqrt(static_cast<double>(p.k + p.n)) + 16;
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (!std::isfinite(want[i].absolute)) {
            // an infinity or a NaN reaches each row that it is multiplied into
            if (std::isfinite(got[i].absolute)) {
                return nw_fail(run, "row %zu has finite numbers only, its operands have not", i);
            }
            continue;
        }
        const double terms = want[i].absolute + std::fabs(got[i].absolute);
        const double bound = steps * std::numeric_limits<double>::epsilon() * terms;
        for (std::size_t v = 0; v < kVectors; ++v) {
            const double off = std::fabs(got[i].with_sign[v] - want[i].with_sign[v]);
            if (!(off <= bound)) {  // also for NaN
                return nw_fail(run, "row %zu of C x is off by %.3g, where rounding may make %.3g", i, off, bound);
            }
        }
    }
    return 0;
}

}  // namespace dgemm
