// SPDX-License-Identifier: BSD-3-Clause
#include "published.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "gemm.h"
#include "schedule.h"
#include "study.h"

namespace dgemm {
namespace {

std::int64_t parts(std::int64_t size, std::int64_t most) { return (size + most - 1) / most; }

struct Tiles {
    std::int64_t k, n, rows;
    bool k_outside;
};

Tiles tiles_of(const nw_run* run, const Core& core) {
    const auto whole = [&](const char* knob, double absent) {
        return static_cast<std::int64_t>(nw_number(run, knob, absent));
    };
    const char* order = nw_text(run, "order");
    return {whole("ktile", 336), whole("ntile", 112), parts(whole("rows", 48), core.rows) * core.rows,
            order != nullptr && std::strcmp(order, "kn") == 0};
}

// Element (i, l) of op(A) is at a[i * across + l * along].
void pack(const double* from, std::int64_t across, std::int64_t along, std::int64_t have, std::int64_t width,
          std::int64_t k, double* into) {
    for (std::int64_t l = 0; l < k; ++l) {
        for (std::int64_t i = 0; i < have; ++i) {
            into[l * width + i] = from[i * across + l * along];
        }
        for (std::int64_t i = have; i < width; ++i) {
            into[l * width + i] = 0;
        }
    }
}

// A tile of op(B), from (l, j), k x n.
struct Tile {
    std::int64_t l, j, k, n;
};

void pack_b_tile(const Problem& p, const Core& core, const Tile& t, double* into) {
    const std::int64_t across = p.transposed_b ? 1 : p.ldb;
    const std::int64_t along = p.transposed_b ? p.ldb : 1;
#pragma omp for schedule(static)
    for (std::int64_t j = 0; j < t.n; j += core.columns) {
        pack(p.b + (t.j + j) * across + t.l * along, across, along, std::min(core.columns, t.n - j), core.columns, t.k,
             into + j * t.k);
    }
}

// One strip of A by the whole tile of B.
void multiply_strip(const Problem& p, const Core& core, const Tile& t, std::int64_t i, CoreCall call, double* strip,
                    const double* b) {
    const std::int64_t across = p.transposed_a ? p.lda : 1;
    const std::int64_t along = p.transposed_a ? 1 : p.lda;
    call.rows = std::min(core.rows, p.m - i);
    pack(p.a + i * across + t.l * along, across, along, call.rows, core.rows, t.k, strip);
    call.k = t.k;
    call.a = strip;
    for (std::int64_t j = 0; j < t.n; j += core.columns) {
        call.b = b + j * t.k;
        call.c = p.c + i + (t.j + j) * p.ldc;
        call.columns = std::min(core.columns, t.n - j);
        core.multiply(call);
    }
}

void multiply_tile(const Problem& p, const Core& core, const Tiles& tiles, const Tile& t, CoreCall call, double* strip,
                   double* b) {
    pack_b_tile(p, core, t, b);
    call.beta = t.l == 0 ? p.beta : 1;
#pragma omp for schedule(runtime)
    for (std::int64_t group = 0; group < p.m; group += tiles.rows) {
        for (std::int64_t i = group; i < std::min(p.m, group + tiles.rows); i += core.rows) {
            multiply_strip(p, core, t, i, call, strip, b);
        }
    }
}

}  // namespace

int prepare_published(nw_run* run, const Core& core) {
    const Tiles tiles = tiles_of(run, core);
    return packing_memory(run, parts(tiles.n, core.columns) * core.columns * tiles.k, core.rows * tiles.k);
}

int multiply_published(nw_run* run, const Core& core, bool prefetch) {
    const Problem p = problem(run);
    const Tiles tiles = tiles_of(run, core);
    const State& own = state(run);
    CoreCall call{};
    call.ldc = p.ldc;
    call.alpha = p.alpha;
    call.l2_distance = prefetch ? static_cast<std::int64_t>(nw_number(run, "l2_distance", 32)) : 0;
    call.l1_distance = prefetch ? static_cast<std::int64_t>(nw_number(run, "l1_distance", 0)) : 0;
    choose_schedule(run);
    const std::int64_t k_tiles = parts(p.k, tiles.k);
    const std::int64_t n_tiles = parts(p.n, tiles.n);
#pragma omp parallel num_threads(run->threads)
    {
        double* strip = own.strips + omp_get_thread_num() * own.part;
        if (p.only_scales()) {
            scale(p, omp_get_thread_num(), omp_get_num_threads());
        }
        for (std::int64_t t = 0; t < k_tiles * n_tiles && !p.only_scales(); ++t) {
            const std::int64_t l = (tiles.k_outside ? t / n_tiles : t % k_tiles) * tiles.k;
            const std::int64_t j = (tiles.k_outside ? t % n_tiles : t / k_tiles) * tiles.n;
            multiply_tile(p, core, tiles, {l, j, std::min(tiles.k, p.k - l), std::min(tiles.n, p.n - j)}, call, strip,
                          own.shared_tile);
        }
    }
    return 0;
}

}  // namespace dgemm
