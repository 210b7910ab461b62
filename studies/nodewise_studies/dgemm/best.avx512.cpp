// SPDX-License-Identifier: BSD-3-Clause
// A tile of 24 x 8: 24 of the 32 registers hold C, three a column of A, the rest elements of B in all lanes. Each k
// costs 24 multiply-adds and 11 loads, so that loads never are the limit.
#if defined(__x86_64__)
#include "best.h"

#include <immintrin.h>

// GCC 12 takes the undefined operand that its own intrinsics pass for ours (its bug 105593)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace dgemm {
namespace {

constexpr std::int64_t kLanes = 8;
constexpr std::int64_t kVectors = 3;
constexpr std::int64_t kRows = kVectors * kLanes;
constexpr std::int64_t kColumns = 8;
constexpr std::int64_t kUnrolled = 8;
constexpr std::int64_t kAhead = 16;  // how many k ahead packing fetches what no hardware foresees

inline __mmask8 first_lanes(std::int64_t count) {
    return static_cast<__mmask8>(count >= kLanes ? 0xff : count <= 0 ? 0 : 0xff >> (kLanes - count));
}

// Where a tile of C goes; `last` are the lanes of its last vector that exist.
struct Tile {
    double* c;
    std::int64_t ldc;
    __mmask8 last;
    double alpha, beta;
    const double* next;  // what the next strip of B holds, to be fetched meanwhile
    const double* next_end;
};

template <int V, int N>
inline void store(const Tile& tile, const __m512d (&sum)[N][V]) {
    const __m512d alpha = _mm512_set1_pd(tile.alpha);
    const __m512d beta = _mm512_set1_pd(tile.beta);
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) {
            double* at = tile.c + j * tile.ldc + v * kLanes;
            const __mmask8 lanes = v + 1 == V ? tile.last : static_cast<__mmask8>(0xff);
            __m512d value = _mm512_mul_pd(alpha, sum[j][v]);
            if (tile.beta != 0) {
                value = _mm512_fmadd_pd(beta, _mm512_maskz_loadu_pd(lanes, at), value);
            }
            _mm512_mask_storeu_pd(at, lanes, value);
        }
    }
}

template <int V, int N>
inline void step(const double* a, const double* b, __m512d (&sum)[N][V]) {
    __m512d column[V];
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) {
        column[v] = _mm512_load_pd(a + v * kLanes);
    }
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
        const __m512d all = _mm512_set1_pd(b[j]);
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) {
            sum[j][v] = _mm512_fmadd_pd(column[v], all, sum[j][v]);
        }
    }
}

inline void fetch(const double* from) { _mm_prefetch(reinterpret_cast<const char*>(from), _MM_HINT_T0); }

template <int V, int N>
__attribute__((noinline)) void multiply_tile(std::int64_t k, const double* a, const double* b, const Tile& tile) {
    __m512d sum[N][V];
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
        // C arrives while the products are summed; its columns need not begin with a cache line
        double* c = tile.c + j * tile.ldc;
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) {
            sum[j][v] = _mm512_setzero_pd();
            fetch(c + v * kLanes);
        }
        fetch(c + V * kLanes - 1);
    }
    const double* next = tile.next;
    std::int64_t l = 0;
    for (; l + kUnrolled <= k; l += kUnrolled) {
        if (next < tile.next_end) {
            fetch(next);
            next += kLanes;
        }
#pragma GCC unroll 8
        for (int u = 0; u < kUnrolled; ++u) {
            step<V, N>(a + u * kLanes * V, b + u * kColumns, sum);
        }
        a += kUnrolled * kLanes * V;
        b += kUnrolled * kColumns;
    }
    for (; l < k; ++l) {
        step<V, N>(a, b, sum);
        a += kLanes * V;
        b += kColumns;
    }
    store<V, N>(tile, sum);
}

using TileFunction = void (*)(std::int64_t, const double*, const double*, const Tile&);

template <int V>
TileFunction of_width(std::int64_t columns) {
    static constexpr TileFunction kFunctions[kColumns] = {
        multiply_tile<V, 1>, multiply_tile<V, 2>, multiply_tile<V, 3>, multiply_tile<V, 4>,
        multiply_tile<V, 5>, multiply_tile<V, 6>, multiply_tile<V, 7>, multiply_tile<V, 8>,
    };
    return kFunctions[columns - 1];
}

TileFunction of_size(std::int64_t vectors, std::int64_t columns) {
    return vectors == 3 ? of_width<3>(columns) : vectors == 2 ? of_width<2>(columns) : of_width<1>(columns);
}

void multiply(const Block& block) {
    // The strips of B come from L3, too late if nobody asks: during each tile a part of the next strip is fetched.
    // After the last one comes the first, for the next block of A.
    const std::int64_t tiles = (block.m + kRows - 1) / kRows;
    const std::int64_t part = (block.k + tiles - 1) / tiles * kColumns;
    for (std::int64_t j = 0; j < block.n; j += kColumns) {
        const std::int64_t columns = block.n - j < kColumns ? block.n - j : kColumns;
        const double* b = block.b + j * block.k;
        const double* next = j + kColumns < block.n ? b + kColumns * block.k : block.b;
        for (std::int64_t i = 0; i < block.m; i += kRows, next += part) {
            const std::int64_t rows = block.m - i < kRows ? block.m - i : kRows;
            const std::int64_t vectors = (rows + kLanes - 1) / kLanes;
            const Tile tile = {block.c + i + j * block.ldc,
                               block.ldc,
                               first_lanes(rows - (vectors - 1) * kLanes),
                               block.alpha,
                               block.beta,
                               next,
                               next + part};
            of_size(vectors, columns)(block.k, block.a + i * block.k, b, tile);
        }
    }
}

// One strip whose rows lie side by side: W doubles a k.
template <int V>
void copy_strip(Source s, std::int64_t rows, std::int64_t k, double* into) {
    const __mmask8 last = first_lanes(rows - (V - 1) * kLanes);
    for (std::int64_t l = 0; l < k; ++l) {
        const double* from = s.from + l * s.along;
        const double* ahead = from + kAhead * s.along;
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) {
            fetch(ahead + v * kLanes);
        }
        fetch(ahead + V * kLanes - 1);
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) {
            const __mmask8 lanes = v + 1 == V ? last : static_cast<__mmask8>(0xff);
            _mm512_store_pd(into + (l * V + v) * kLanes, _mm512_maskz_loadu_pd(lanes, from + v * kLanes));
        }
    }
}

// Eight rows of eight become eight columns.
inline void transpose(__m512d (&r)[8]) {
    __m512d t[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
    }
    // of each pair of rows: 128-bit parts, first within halves, then across
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
        const __m512d low = _mm512_shuffle_f64x2(t[i], t[i + 2], 0x88);
        const __m512d high = _mm512_shuffle_f64x2(t[i], t[i + 2], 0xdd);
        const __m512d low2 = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0x88);
        const __m512d high2 = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0xdd);
        r[i] = _mm512_shuffle_f64x2(low, low2, 0x88);
        r[i + 4] = _mm512_shuffle_f64x2(low, low2, 0xdd);
        r[i + 2] = _mm512_shuffle_f64x2(high, high2, 0x88);
        r[i + 6] = _mm512_shuffle_f64x2(high, high2, 0xdd);
    }
}

// Eight rows, each contiguous along k, into lanes; `width` is the strip's, in doubles.
void turn_rows(Source s, std::int64_t rows, std::int64_t k, std::int64_t width, double* into) {
    for (std::int64_t l = 0; l < k; l += kLanes) {
        const __mmask8 lanes = first_lanes(k - l);
        __m512d r[kLanes];
        // the rows after these come next
        for (int i = 0; i < kLanes; ++i) {
            fetch(s.from + (kLanes + i) * s.across + l);
        }
#pragma GCC unroll 8
        for (int i = 0; i < kLanes; ++i) {
            const __mmask8 here = i < rows ? lanes : static_cast<__mmask8>(0);
            r[i] = _mm512_maskz_loadu_pd(here, s.from + i * s.across * (i < rows ? 1 : 0) + l);
        }
        transpose(r);
        const std::int64_t left = k - l < kLanes ? k - l : kLanes;
        if (left == kLanes) {
#pragma GCC unroll 8
            for (int i = 0; i < kLanes; ++i) {
                _mm512_store_pd(into + (l + i) * width, r[i]);
            }
        } else {
#pragma GCC unroll 8
            for (int i = 0; i < kLanes; ++i) {
                if (i < left) {
                    _mm512_store_pd(into + (l + i) * width, r[i]);
                }
            }
        }
    }
}

void pack_strip(Source s, std::int64_t rows, std::int64_t k, double* into) {
    const std::int64_t vectors = (rows + kLanes - 1) / kLanes;
    if (s.across == 1) {
        (vectors == 3 ? copy_strip<3> : vectors == 2 ? copy_strip<2> : copy_strip<1>)(s, rows, k, into);
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

const Kernels& avx512_kernels() {
    static constexpr Kernels kKernels = {kRows, kColumns, 320, 192, 4096, pack<kRows>, pack<kColumns>, multiply};
    return kKernels;
}

}  // namespace dgemm
#endif
