// SPDX-License-Identifier: BSD-3-Clause
// The matrices and the rows' costs, the check by a random vector, and the work model.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "study.h"

namespace schedule {
namespace {

enum Stream : std::uint64_t { kLengths, kA, kB, kVector };

// A number in [0, 1) for an index of one of the streams.
double uniform(std::uint64_t seed, Stream stream, std::int64_t index) {
    return nw_uniform(nw_random(seed * 4 + stream, static_cast<std::uint64_t>(index)));
}

std::int64_t order_of(const nw_run* run) { return static_cast<std::int64_t>(nw_number(run, "n", 1)); }

// A random load's shortest row, as a share of n. Longer rows are rarer in proportion to their length, so that a few
// make up a good part of the work.
constexpr double kShortest = 1.0 / 64;

// The vector that C is multiplied with: no element is so small that an error of C could hide behind it.
double weight(const nw_run* run, std::int64_t j) { return 0.5 + uniform(run->seed, kVector, j); }

struct Known {
    double value;      // of an element of C · x
    double magnitude;  // the same with all absolute values
};

// B · x and |B| · x.
std::vector<Known> times_vector(const nw_run* run, const Product& p) {
    std::vector<Known> result(static_cast<std::size_t>(p.n));
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t k = 0; k < p.n; ++k) {
        Known sum{0, 0};
        for (std::int64_t j = 0; j < p.n; ++j) {
            const double term = p.b[k * p.n + j] * weight(run, j);
            sum.value += term;
            sum.magnitude += std::fabs(term);
        }
        result[static_cast<std::size_t>(k)] = sum;
    }
    return result;
}

// A row of C is right if its product with x is that of A's row with B · x, but for rounding: two sums of n terms on
// each side, and one more for the product itself.
bool row_is_right(const nw_run* run, const Product& p, const std::vector<Known>& bx, std::int64_t i) {
    Known want{0, 0};
    for (std::int64_t k = 0; k < p.n; ++k) {
        const Known& known = bx[static_cast<std::size_t>(k)];
        want.value += p.a[i * p.n + k] * known.value;
        want.magnitude += std::fabs(p.a[i * p.n + k]) * known.magnitude;
    }
    double got = 0;
    for (std::int64_t j = 0; j < p.n; ++j) {
        got += p.c[i * p.n + j] * weight(run, j);
    }
    const double rounding = static_cast<double>(4 * p.n + 8) * 0x1p-53;
    // a NaN is not within any tolerance
    return std::fabs(got - want.value) <= rounding * want.magnitude;
}

}  // namespace

Product product_of(const nw_run* run) {
    return {order_of(run), static_cast<const std::int32_t*>(nw_data(run, "lengths")),
            static_cast<const double*>(nw_data(run, "a")), static_cast<const double*>(nw_data(run, "b")),
            static_cast<double*>(nw_data(run, "c"))};
}

std::int64_t row_length(const nw_run* run, std::int64_t row) {
    const char* load = nw_text(run, "load");
    const std::int64_t n = order_of(run);
    if (load != nullptr && std::strcmp(load, "triangular") == 0) {
        return row + 1;
    }
    if (load != nullptr && std::strcmp(load, "random") == 0) {
        const double length = kShortest * static_cast<double>(n) / (1 - uniform(run->seed, kLengths, row));
        return std::clamp(static_cast<std::int64_t>(std::min(length, static_cast<double>(n))), std::int64_t{1}, n);
    }
    return n;
}

int layout(nw_run* run) {
    const auto n = static_cast<std::uint64_t>(order_of(run));
    nw_declare(run, "lengths", NW_I32, NW_SCRATCH, n);
    nw_declare(run, "a", NW_F64, NW_INPUT, n * n);
    nw_declare(run, "b", NW_F64, NW_INPUT, n * n);
    nw_declare(run, "c", NW_F64, NW_OUTPUT, n * n);
    return 0;
}

int fill(nw_run* run) {
    auto* lengths = static_cast<std::int32_t*>(nw_data(run, "lengths"));
    auto* a = static_cast<double*>(nw_data(run, "a"));
    auto* b = static_cast<double*>(nw_data(run, "b"));
    const std::int64_t n = order_of(run);
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t length = row_length(run, i);
        lengths[i] = static_cast<std::int32_t>(length);
        for (std::int64_t k = 0; k < n; ++k) {
            a[i * n + k] = k < length ? 2 * uniform(run->seed, kA, i * n + k) - 1 : 0;
            b[i * n + k] = 2 * uniform(run->seed, kB, i * n + k) - 1;
        }
    }
    return 0;
}

// So that a row that no thread took is noticed.
int reset(nw_run* run) {
    const Product p = product_of(run);
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t i = 0; i < p.n; ++i) {
        std::fill_n(p.c + i * p.n, p.n, std::numeric_limits<double>::quiet_NaN());
    }
    return 0;
}

int check(nw_run* run) {
    const Product p = product_of(run);
    const std::vector<Known> bx = times_vector(run, p);
    std::int64_t wrong = p.n;
#pragma omp parallel for schedule(static) num_threads(run->threads) reduction(min : wrong)
    for (std::int64_t i = 0; i < p.n; ++i) {
        if (!row_is_right(run, p, bx, i)) {
            wrong = std::min(wrong, i);
        }
    }
    return wrong == p.n ? 0 : nw_fail(run, "row %lld is not that of the product", static_cast<long long>(wrong));
}

// A multiplication and an addition for each element of A that is not zero and each column; what is read at least once,
// and written.
void work(const nw_run* run, nw_work* out) {
    const std::int64_t n = order_of(run);
    double elements = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        elements += static_cast<double>(row_length(run, i));
    }
    const auto size = static_cast<double>(n);
    *out = {elements * size, 2 * elements * size, 8 * (elements + size * size), 8 * size * size};
}

}  // namespace schedule
