// SPDX-License-Identifier: BSD-3-Clause
// Inputs and check.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "problem.h"
#include "simd_math/vectors.h"
#include "study.h"

namespace gramschmidt {
namespace {

using simd_math::dots;

constexpr double kRounding = std::numeric_limits<double>::epsilon() / 2;

// How many times the matrix is tried with vectors of random signs, each of which sees every element.
constexpr int kTries = 2;

// In [-1, 1), by its place in the whole basis.
double element(const nw_run* run, const Problem& p, int stream, int j, std::int64_t i) {
    const auto at =
        static_cast<std::uint64_t>(j) * static_cast<std::uint64_t>(p.whole) + static_cast<std::uint64_t>(p.before + i);
    return 2 * nw_uniform(nw_random(run->seed * 4 + static_cast<std::uint64_t>(stream), at)) - 1;
}

// Whether basis · R is what was given: both tried with a vector of signs, element by element, within what rounding may
// do. The number of an element that is not so, or -1.
std::int64_t first_unlike(nw_run* run, const Problem& p, const double* given, const double* basis, int attempt) {
    const auto count = static_cast<std::size_t>(p.vectors);
    std::vector<double> signs(count);
    std::vector<double> r_signs(count);
    std::vector<double> r_sizes(count);
    for (int j = 0; j < p.vectors; ++j) {
        const std::int64_t at = std::int64_t{attempt} * p.vectors + j;
        const std::uint64_t random = nw_random(run->seed * 4 + 3, static_cast<std::uint64_t>(at));
        signs[static_cast<std::size_t>(j)] = (random >> 63) != 0 ? 1.0 : -1.0;
    }
    for (int i = 0; i < p.vectors; ++i) {
        for (int j = 0; j < p.vectors; ++j) {
            r_signs[static_cast<std::size_t>(i)] += p.r_of(i, j) * signs[static_cast<std::size_t>(j)];
            r_sizes[static_cast<std::size_t>(i)] += std::fabs(p.r_of(i, j));
        }
    }
    const double allowed = (8.0 * p.vectors + 64) * kRounding;
    std::int64_t first = p.n;
#pragma omp parallel for schedule(static) num_threads(run->threads) reduction(min : first)
    for (std::int64_t e = 0; e < p.n; ++e) {
        double want = 0;
        double got = 0;
        double size = 0;
        for (int j = 0; j < p.vectors; ++j) {
            const auto at = static_cast<std::size_t>(j);
            want += given[j * p.n + e] * signs[at];
            got += basis[j * p.n + e] * r_signs[at];
            size += std::fabs(basis[j * p.n + e]) * r_sizes[at] + std::fabs(given[j * p.n + e]);
        }
        if (!(std::fabs(want - got) <= allowed * size)) {
            first = std::min(first, e);
        }
    }
    return first < p.n ? first : -1;
}

// How much of its orthogonality any of the methods may lose: the classic one with the square of the condition (Giraud,
// Langou, Rozložník 2005, doi 10.1016/j.camwa.2005.08.009), of which the diagonal of R tells what chance adds.
double allowed_loss(const Problem& p) {
    double largest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int j = 0; j < p.vectors; ++j) {
        largest = std::max(largest, std::fabs(p.r_of(j, j)));
        least = std::min(least, std::fabs(p.r_of(j, j)));
    }
    const double spread = p.condition * largest / least;
    return 1e-11 * spread * spread;
}

// ‖I − QᵀQ‖ by Frobenius, over all ranks; each vector with those up to it.
double loss_of_orthogonality(nw_run* run, const Problem& p) {
    Sums sums(run->threads, p.vectors);
    std::vector<double> products(static_cast<std::size_t>(p.vectors));
    double squares = 0;
    for (int j = 0; j < p.vectors; ++j) {
        sums.clear();
        on_parts(run, p.n, [&](int thread, std::int64_t begin, std::int64_t end) {
            on_chunks(begin, end, p.chunk, [&](std::int64_t at, std::int64_t count) {
                dots(p.q + at, p.n, j + 1, p.vector_of(p.q, j) + at, count, sums.of(thread));
            });
        });
        sums.total(run, j + 1, products.data());
        for (int i = 0; i <= j; ++i) {
            const double off = products[static_cast<std::size_t>(i)] - (i == j ? 1 : 0);
            squares += (i == j ? 1 : 2) * off * off;
        }
    }
    return std::sqrt(squares);
}

// As many vectors as stay in most of the last cache along with those that are read meanwhile, w, and one on its way;
// all where not even one does: then they are read twice anyway. The ranks of a node share its cache.
int panel_of(const Problem& p, int asked, int ranks) {
    if (asked > 0) {
        return asked;
    }
    const auto whole = static_cast<double>(p.n) * ranks * sizeof(double);
    const auto fitting = (static_cast<std::int64_t>(0.75 * last_cache() / std::max(1.0, whole)) - 2) / 2;
    // the kernels take four at a time
    const auto taken = fitting > 4 ? fitting / 4 * 4 : fitting;
    return static_cast<int>(taken < 1 ? p.vectors : std::min<std::int64_t>(taken, p.vectors));
}

}  // namespace

double last_cache() {
    const long usual = 32L << 20;
    const long last = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return static_cast<double>(last > 0 ? last : usual);
}

Problem problem(const nw_run* run) {
    Problem p{};
    p.whole = static_cast<std::int64_t>(nw_number(run, "n", 1));
    const auto whole = static_cast<std::uint64_t>(p.whole);
    p.before = static_cast<std::int64_t>(nw_begin(whole, run->rank, run->ranks));
    p.n = static_cast<std::int64_t>(nw_begin(whole, run->rank + 1, run->ranks)) - p.before;
    p.vectors = static_cast<int>(nw_number(run, "vectors", 1));
    const char* update = nw_text(run, "update");
    p.update = update == nullptr || strcmp(update, "yes") == 0;
    p.chunk = static_cast<std::int64_t>(nw_number(run, "chunk", 16384));
    p.condition = nw_number(run, "condition", 1);
    p.panel = panel_of(p, static_cast<int>(nw_number(run, "panel", 0)), run->ranks);
    p.v = static_cast<const double*>(nw_data(run, "V"));
    p.d0 = static_cast<const double*>(nw_data(run, "D0"));
    p.q = static_cast<double*>(nw_data(run, "Q"));
    p.d = static_cast<double*>(nw_data(run, "D"));
    p.r = static_cast<double*>(nw_data(run, "R"));
    return p;
}

int layout(nw_run* run) {
    const Problem p = problem(run);
    if (p.whole < p.vectors) {
        return nw_fail(run, "of %lld elements no %d vectors are independent\nhint: give n=%d or more",
                       static_cast<long long>(p.whole), p.vectors, p.vectors);
    }
    if (!(p.condition >= 1)) {
        return nw_fail(run, "a condition of %g is below that of equal singular values\nhint: give condition=1 or more",
                       p.condition);
    }
    const auto count = static_cast<std::uint64_t>(p.vectors);
    const auto all = count * static_cast<std::uint64_t>(p.n);
    const std::uint64_t second = p.update ? all : 0;
    nw_declare(run, "V", NW_F64, NW_INPUT, all);
    nw_declare(run, "D0", NW_F64, NW_INPUT, second);
    nw_declare(run, "Q", NW_F64, NW_OUTPUT, all);
    nw_declare(run, "D", NW_F64, NW_OUTPUT, second);
    nw_declare(run, "R", NW_F64, NW_OUTPUT, count * count);
    return 0;
}

// Random vectors; for a larger condition they are that much nearer to one that all have in common: of the basis
// u eᵀ + δ E the largest singular value is about |u| √k, the least about δ |E_j|.
int fill(nw_run* run) {
    const Problem p = problem(run);
    auto* v = const_cast<double*>(p.v);
    auto* d0 = const_cast<double*>(p.d0);
    const double apart = p.condition > 1 ? std::sqrt(static_cast<double>(p.vectors)) / p.condition : 1;
    on_parts(run, p.n, [&](int, std::int64_t begin, std::int64_t end) {
        for (int j = 0; j < p.vectors; ++j) {
            for (std::int64_t i = begin; i < end; ++i) {
                const double common = p.condition > 1 ? element(run, p, 2, 0, i) : 0;
                v[j * p.n + i] = common + apart * element(run, p, 0, j, i);
                if (p.update) {
                    d0[j * p.n + i] = element(run, p, 1, j, i);
                }
            }
        }
    });
    return 0;
}

int check(nw_run* run) {
    const Problem p = problem(run);
    if (run->own != nullptr && run->ranks > 1) {
        nw_report(run, "communication_s", static_cast<Scratch*>(run->own)->sums.communication_s());
    }
    // asked of all ranks together, before one of them may find something wrong
    const double loss = loss_of_orthogonality(run, p);
    nw_report(run, "orthogonality", loss);
    if (!(loss <= allowed_loss(p))) {
        return nw_fail(run, "the vectors are not orthonormal: |I - Q'Q| is %g", loss);
    }
    for (int attempt = 0; attempt < kTries; ++attempt) {
        if (const std::int64_t at = first_unlike(run, p, p.v, p.q, attempt); at >= 0) {
            return nw_fail(run, "Q R is not V in element %s of the vectors", std::to_string(p.before + at).c_str());
        }
        if (p.update) {
            if (const std::int64_t at = first_unlike(run, p, p.d0, p.d, attempt); at >= 0) {
                return nw_fail(run, "D R is not D0 in element %s of the vectors",
                               std::to_string(p.before + at).c_str());
            }
        }
    }
    return 0;
}

}  // namespace gramschmidt
