// SPDX-License-Identifier: BSD-3-Clause
// The problem from the knobs, its arrays, and the work that it is.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "gemm.h"
#include "study.h"

namespace dgemm {
namespace {

std::int64_t whole(const nw_run* run, const char* knob, std::int64_t absent) {
    return static_cast<std::int64_t>(nw_number(run, knob, static_cast<double>(absent)));
}

bool says(const nw_run* run, const char* knob, const char* text) {
    const char* given = nw_text(run, knob);
    return given != nullptr && std::strcmp(given, text) == 0;
}

// A matrix as it is stored; what lies between its rows and the next column is never to be read or written.
struct Stored {
    const char* name;
    std::int64_t rows, columns, leading;
    bool unread;  // no element may be read
};

void fill_matrix(const nw_run* run, const Stored& s, std::uint64_t which) {
    auto* data = static_cast<double*>(nw_data(run, s.name));
    const std::uint64_t start = nw_mix(run->seed * 4 + which);
    const bool is_c = which == 2;
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t j = 0; j < std::max<std::int64_t>(s.columns, 1); ++j) {
        for (std::int64_t i = 0; i < s.leading; ++i) {
            const auto at = static_cast<std::uint64_t>(j * s.leading + i);
            const bool inside = i < s.rows && j < s.columns;
            const auto bits = static_cast<double>(nw_mix(start + at) >> 11U);
            const bool never = inside ? s.unread : !is_c;
            data[at] = never ? std::numeric_limits<double>::quiet_NaN() : bits * 0x1p-52 - 1;
        }
    }
}

// Zeros of both signs and a subnormal number anywhere; an infinity and a NaN in op(A), an infinity in op(B), each in a
// row or column of its own, so that what they must not reach can be seen.
void fill_special(const nw_run* run, const Problem& p) {
    auto* a = static_cast<double*>(nw_data(run, "A"));
    auto* b = static_cast<double*>(nw_data(run, "B"));
    const auto in_a = [&](std::int64_t i, std::int64_t l) -> double& {
        return a[p.transposed_a ? l + i * p.lda : i + l * p.lda];
    };
    const auto in_b = [&](std::int64_t l, std::int64_t j) -> double& {
        return b[p.transposed_b ? j + l * p.ldb : l + j * p.ldb];
    };
    constexpr double kSmall[] = {0.0, -0.0, std::numeric_limits<double>::denorm_min()};
    for (std::int64_t l = 0; l < p.k; ++l) {
        in_a(l % p.m, l) = kSmall[l % 3];
        in_b(l, l % p.n) = kSmall[(l + 1) % 3];
    }
    in_a(p.m - 1, 0) = std::numeric_limits<double>::infinity();
    in_a(p.m / 2, p.k - 1) = std::numeric_limits<double>::quiet_NaN();
    in_b(p.k / 2, p.n - 1) = -std::numeric_limits<double>::infinity();
}

std::int64_t leading(std::int64_t rows, std::int64_t pad) { return std::max<std::int64_t>(rows, 1) + pad; }

std::uint64_t size_of(std::int64_t ld, std::int64_t columns) {
    return static_cast<std::uint64_t>(ld * std::max<std::int64_t>(columns, 1));
}

}  // namespace

Problem problem(const nw_run* run) {
    Problem p = state(run).shape;
    p.a = static_cast<const double*>(nw_data(run, "A"));
    p.b = static_cast<const double*>(nw_data(run, "B"));
    p.c = static_cast<double*>(nw_data(run, "C"));
    return p;
}

int layout(nw_run* run) {
    Problem p{};
    p.n = whole(run, "n", 2048);
    p.m = whole(run, "m", p.n);
    p.k = whole(run, "k", p.n);
    p.transposed_a = says(run, "transa", "T");
    p.transposed_b = says(run, "transb", "T");
    p.alpha = nw_number(run, "alpha", 1);
    p.beta = nw_number(run, "beta", 1);
    const std::int64_t pad = whole(run, "pad", 0);
    p.lda = leading(p.transposed_a ? p.k : p.m, pad);
    p.ldb = leading(p.transposed_b ? p.n : p.k, pad);
    p.ldc = leading(p.m, pad);
    nw_declare(run, "A", NW_F64, NW_INPUT, size_of(p.lda, p.transposed_a ? p.m : p.k));
    nw_declare(run, "B", NW_F64, NW_INPUT, size_of(p.ldb, p.transposed_b ? p.k : p.n));
    nw_declare(run, "C0", NW_F64, NW_INPUT, size_of(p.ldc, p.n));
    nw_declare(run, "C", NW_F64, NW_OUTPUT, size_of(p.ldc, p.n));
    run->own = new State{p, nullptr, nullptr, 0};
    return 0;
}

int fill(nw_run* run) {
    const Problem& p = state(run).shape;
    const bool unread = says(run, "unread", "nan");
    fill_matrix(run, {"A", p.transposed_a ? p.k : p.m, p.transposed_a ? p.m : p.k, p.lda, unread && p.only_scales()},
                0);
    fill_matrix(run, {"B", p.transposed_b ? p.n : p.k, p.transposed_b ? p.k : p.n, p.ldb, unread && p.only_scales()},
                1);
    fill_matrix(run, {"C0", p.m, p.n, p.ldc, unread && p.beta == 0}, 2);
    if (says(run, "input", "special") && !p.only_scales() && p.m > 0 && p.n > 0) {
        fill_special(run, p);
    }
    return 0;
}

int reset(nw_run* run) {
    const Problem p = problem(run);
    const auto* first = static_cast<const double*>(nw_data(run, "C0"));
    const std::int64_t count = p.ldc * std::max<std::int64_t>(p.n, 1);
#pragma omp parallel num_threads(run->threads)
    {
        const std::int64_t begin = first_of(count, omp_get_thread_num(), omp_get_num_threads());
        const std::int64_t end = first_of(count, omp_get_thread_num() + 1, omp_get_num_threads());
        std::copy(first + begin, first + end, p.c + begin);
    }
    return 0;
}

void scale(const Problem& p, int thread, int threads) {
    for (std::int64_t j = first_of(p.n, thread, threads); j < first_of(p.n, thread + 1, threads); ++j) {
        double* column = p.c + j * p.ldc;
        for (std::int64_t i = 0; i < p.m; ++i) {
            column[i] = p.beta == 0 ? 0 : p.beta * column[i];
        }
    }
}

int packing_memory(nw_run* run, std::int64_t shared, std::int64_t part) {
    State& own = state(run);
    constexpr std::int64_t kPage = (2 << 20) / sizeof(double);
    // whole pages, so that no two threads' strips share one
    own.part = (part + kPage - 1) / kPage * kPage;
    const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(double); };
    own.shared_tile =
        static_cast<double*>(run->memory(run, bytes(std::max<std::int64_t>(shared, 8)), NW_HUGE | NW_FAST));
    own.strips = static_cast<double*>(run->memory(run, bytes(own.part * run->threads), NW_HUGE));
    if (own.shared_tile == nullptr || own.strips == nullptr) {
        return 1;
    }
#pragma omp parallel num_threads(run->threads)
    {
        double* mine = own.strips + omp_get_thread_num() * own.part;
        std::fill(mine, mine + own.part, 0.0);
    }
    std::fill(own.shared_tile, own.shared_tile + std::max<std::int64_t>(shared, 8), 0.0);
    return 0;
}

void work(const nw_run* run, nw_work* out) {
    const Problem& p = state(run).shape;
    const auto m = static_cast<double>(p.m);
    const auto n = static_cast<double>(p.n);
    const auto k = static_cast<double>(p.k);
    // the usual count: a multiplication and an addition for each of m n k; the scaling by alpha and beta is not counted
    out->flops = p.only_scales() ? 0 : 2 * m * n * k;
    // where nothing is multiplied, elements of C are what is worked on
    out->items = out->flops > 0 ? out->flops : std::max(m * n, 1.0);
    // each operand once, and C, which is not read where beta is 0
    out->bytes_read = 8 * ((p.only_scales() ? 0 : m * k + k * n) + (p.beta == 0 ? 0 : m * n));
    out->bytes_written = 8 * m * n;
}

void release(nw_run* run) {
    delete static_cast<State*>(run->own);
    run->own = nullptr;
}

}  // namespace dgemm
