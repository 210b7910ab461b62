// SPDX-License-Identifier: BSD-3-Clause
// A tile of 12 x 4: twelve of the 16 registers hold C, three a column of A, one an element of B in all lanes.
#if defined(__x86_64__)
#include "best.h"

#include <immintrin.h>

namespace dgemm {
namespace {

constexpr std::int64_t kLanes = 4;
constexpr std::int64_t kVectors = 3;
constexpr std::int64_t kRows = kVectors * kLanes;
constexpr std::int64_t kColumns = 4;

inline __m256i first_lanes(std::int64_t count) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}

// Where a tile of C goes; `last` are the lanes of its last vector that exist.
struct Tile {
    double* c;
    std::int64_t ldc;
    std::int64_t last;
    double alpha, beta;
};

inline __m256d scaled(const Tile& tile, __m256d sum, __m256d before) {
    return _mm256_fmadd_pd(_mm256_set1_pd(tile.beta), before, _mm256_mul_pd(_mm256_set1_pd(tile.alpha), sum));
}

template <int V, int N>
inline void store(const Tile& tile, const __m256d (&sum)[N][V]) {
    const __m256i last = first_lanes(tile.last);
    const __m256d none = _mm256_setzero_pd();
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) {
            double* at = tile.c + j * tile.ldc + v * kLanes;
            if (v + 1 < V || tile.last == kLanes) {
                _mm256_storeu_pd(at, scaled(tile, sum[j][v], tile.beta == 0 ? none : _mm256_loadu_pd(at)));
            } else {
                const __m256d before = tile.beta == 0 ? none : _mm256_maskload_pd(at, last);
                _mm256_maskstore_pd(at, last, scaled(tile, sum[j][v], before));
            }
        }
    }
}

template <int V, int N>
void multiply_tile(std::int64_t k, const double* a, const double* b, const Tile& tile) {
    __m256d sum[N][V];
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) {
            sum[j][v] = _mm256_setzero_pd();
        }
        // C arrives while the products are summed
        _mm_prefetch(reinterpret_cast<const char*>(tile.c + j * tile.ldc), _MM_HINT_T0);
        _mm_prefetch(reinterpret_cast<const char*>(tile.c + j * tile.ldc + V * kLanes - 1), _MM_HINT_T0);
    }
#pragma GCC unroll 4
    for (std::int64_t l = 0; l < k; ++l) {
        __m256d column[V];
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) {
            column[v] = _mm256_load_pd(a + (l * V + v) * kLanes);
        }
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) {
            const __m256d all = _mm256_broadcast_sd(b + l * kColumns + j);
#pragma GCC unroll 3
            for (int v = 0; v < V; ++v) {
                sum[j][v] = _mm256_fmadd_pd(column[v], all, sum[j][v]);
            }
        }
    }
    store<V, N>(tile, sum);
}

using TileFunction = void (*)(std::int64_t, const double*, const double*, const Tile&);

template <int V>
TileFunction of_width(std::int64_t columns) {
    static constexpr TileFunction kFunctions[kColumns] = {multiply_tile<V, 1>, multiply_tile<V, 2>, multiply_tile<V, 3>,
                                                          multiply_tile<V, 4>};
    return kFunctions[columns - 1];
}

TileFunction of_size(std::int64_t vectors, std::int64_t columns) {
    return vectors == 3 ? of_width<3>(columns) : vectors == 2 ? of_width<2>(columns) : of_width<1>(columns);
}

void multiply(const Block& block) {
    for (std::int64_t j = 0; j < block.n; j += kColumns) {
        const std::int64_t columns = block.n - j < kColumns ? block.n - j : kColumns;
        const double* b = block.b + j * block.k;
        for (std::int64_t i = 0; i < block.m; i += kRows) {
            const std::int64_t rows = block.m - i < kRows ? block.m - i : kRows;
            const std::int64_t vectors = (rows + kLanes - 1) / kLanes;
            const Tile tile = {block.c + i + j * block.ldc, block.ldc, rows - (vectors - 1) * kLanes, block.alpha,
                               block.beta};
            of_size(vectors, columns)(block.k, block.a + i * block.k, b, tile);
        }
    }
}

inline __m256d load_part(const double* from, std::int64_t count) {
    return count >= kLanes ? _mm256_loadu_pd(from) : _mm256_maskload_pd(from, first_lanes(count));
}

// One strip whose rows lie side by side: V vectors a k.
void copy_strip(Source s, std::int64_t rows, std::int64_t k, std::int64_t vectors, double* into) {
    for (std::int64_t l = 0; l < k; ++l) {
        for (std::int64_t v = 0; v < vectors; ++v) {
            _mm256_store_pd(into + (l * vectors + v) * kLanes,
                            load_part(s.from + l * s.along + v * kLanes, rows - v * kLanes));
        }
    }
}

// Up to four rows, each contiguous along k, into lanes; `width` is the strip's, in doubles.
void turn_rows(Source s, std::int64_t rows, std::int64_t k, std::int64_t width, double* into) {
    for (std::int64_t l = 0; l < k; l += kLanes) {
        __m256d r[kLanes];
        for (int i = 0; i < kLanes; ++i) {
            r[i] = i < rows ? load_part(s.from + i * s.across + l, k - l) : _mm256_setzero_pd();
        }
        const __m256d low01 = _mm256_unpacklo_pd(r[0], r[1]);
        const __m256d high01 = _mm256_unpackhi_pd(r[0], r[1]);
        const __m256d low23 = _mm256_unpacklo_pd(r[2], r[3]);
        const __m256d high23 = _mm256_unpackhi_pd(r[2], r[3]);
        const __m256d turned[kLanes] = {
            _mm256_permute2f128_pd(low01, low23, 0x20), _mm256_permute2f128_pd(high01, high23, 0x20),
            _mm256_permute2f128_pd(low01, low23, 0x31), _mm256_permute2f128_pd(high01, high23, 0x31)};
        for (int i = 0; i < kLanes && l + i < k; ++i) {
            _mm256_store_pd(into + (l + i) * width, turned[i]);
        }
    }
}

void pack_strip(Source s, std::int64_t rows, std::int64_t k, double* into) {
    const std::int64_t vectors = (rows + kLanes - 1) / kLanes;
    if (s.across == 1) {
        copy_strip(s, rows, k, vectors, into);
        return;
    }
    for (std::int64_t v = 0; v < vectors; ++v) {
        const std::int64_t left = rows - v * kLanes;
        const Source part = {s.from + v * kLanes * s.across, s.across, s.along};
        turn_rows(part, left < kLanes ? left : kLanes, k, vectors * kLanes, into + v * kLanes);
    }
}

template <int W>
void pack(Source s, std::int64_t rows, std::int64_t k, double* into) {
    for (std::int64_t i = 0; i < rows; i += W) {
        const Source part = {s.from + i * s.across, s.across, s.along};
        pack_strip(part, rows - i < W ? rows - i : W, k, into + i * k);
    }
}

}  // namespace

const Kernels& avx2_kernels() {
    static constexpr Kernels kKernels = {kRows, kColumns, 384, 96, 4096, pack<kRows>, pack<kColumns>, multiply};
    return kKernels;
}

}  // namespace dgemm
#endif
