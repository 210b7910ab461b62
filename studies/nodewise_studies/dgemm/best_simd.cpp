// SPDX-License-Identifier: BSD-3-Clause
// The same by Highway, for any processor: a tile of three vectors by four columns, which fits 16 registers. Tiles at
// C's edges are computed in full, by packed zeros, and stored element by element.
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "best_simd.cpp"
#include <hwy/foreach_target.h>
// after it
#include <hwy/highway.h>

#include <cstddef>

#include "best.h"

HWY_BEFORE_NAMESPACE();
namespace dgemm {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

constexpr std::int64_t kColumns = 4;

inline std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }

HWY_INLINE void store(D d, double* c, V alpha, double beta, V sum) {
    const V scaled = hn::Mul(alpha, sum);
    hn::StoreU(beta == 0 ? scaled : hn::MulAdd(hn::Set(d, beta), hn::LoadU(d, c), scaled), d, c);
}

HWY_INLINE void store(double* c, double alpha, double beta, V v0, V v1, V v2) {
    const D d;
    const auto step = hn::Lanes(d);
    const V factor = hn::Set(d, alpha);
    store(d, c, factor, beta, v0);
    store(d, c + step, factor, beta, v1);
    store(d, c + 2 * step, factor, beta, v2);
}

// A full tile: c = alpha a b + beta c.
HWY_INLINE void multiply_tile(std::int64_t k, const double* a, const double* b, double* c, std::int64_t ldc,
                              double alpha, double beta) {
    const D d;
    const auto step = hn::Lanes(d);
    V c00 = hn::Zero(d), c01 = c00, c02 = c00;
    V c10 = c00, c11 = c00, c12 = c00;
    V c20 = c00, c21 = c00, c22 = c00;
    V c30 = c00, c31 = c00, c32 = c00;
    for (std::int64_t l = 0; l < k; ++l, a += 3 * step, b += kColumns) {
        const V a0 = hn::Load(d, a);
        const V a1 = hn::Load(d, a + step);
        const V a2 = hn::Load(d, a + 2 * step);
        const V b0 = hn::Set(d, b[0]);
        c00 = hn::MulAdd(a0, b0, c00);
        c01 = hn::MulAdd(a1, b0, c01);
        c02 = hn::MulAdd(a2, b0, c02);
        const V b1 = hn::Set(d, b[1]);
        c10 = hn::MulAdd(a0, b1, c10);
        c11 = hn::MulAdd(a1, b1, c11);
        c12 = hn::MulAdd(a2, b1, c12);
        const V b2 = hn::Set(d, b[2]);
        c20 = hn::MulAdd(a0, b2, c20);
        c21 = hn::MulAdd(a1, b2, c21);
        c22 = hn::MulAdd(a2, b2, c22);
        const V b3 = hn::Set(d, b[3]);
        c30 = hn::MulAdd(a0, b3, c30);
        c31 = hn::MulAdd(a1, b3, c31);
        c32 = hn::MulAdd(a2, b3, c32);
    }
    store(c, alpha, beta, c00, c01, c02);
    store(c + ldc, alpha, beta, c10, c11, c12);
    store(c + 2 * ldc, alpha, beta, c20, c21, c22);
    store(c + 3 * ldc, alpha, beta, c30, c31, c32);
}

// A tile of which only rows x columns exist.
void multiply_edge(const Block& block, const double* a, const double* b, double* c, std::int64_t rows,
                   std::int64_t columns) {
    const std::int64_t height = 3 * lanes();
    HWY_ALIGN double full[std::size_t{3} * HWY_MAX_BYTES / sizeof(double) * kColumns];
    multiply_tile(block.k, a, b, full, height, 1, 0);
    for (std::int64_t j = 0; j < columns; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) {
            double& to = c[i + j * block.ldc];
            to = block.alpha * full[i + j * height] + (block.beta == 0 ? 0 : block.beta * to);
        }
    }
}

void multiply(const Block& block) {
    const std::int64_t height = 3 * lanes();
    for (std::int64_t j = 0; j < block.n; j += kColumns) {
        const double* b = block.b + j * block.k;
        for (std::int64_t i = 0; i < block.m; i += height) {
            const double* a = block.a + i * block.k;
            double* c = block.c + i + j * block.ldc;
            if (i + height <= block.m && j + kColumns <= block.n) {
                multiply_tile(block.k, a, b, c, block.ldc, block.alpha, block.beta);
            } else {
                multiply_edge(block, a, b, c, HWY_MIN(height, block.m - i), HWY_MIN(kColumns, block.n - j));
            }
        }
    }
}

void pack(Source s, std::int64_t rows, std::int64_t k, std::int64_t width, double* into) {
    for (std::int64_t i = 0; i < rows; i += width, into += width * k) {
        const std::int64_t have = HWY_MIN(width, rows - i);
        for (std::int64_t l = 0; l < k; ++l) {
            for (std::int64_t r = 0; r < have; ++r) {
                into[l * width + r] = s.from[(i + r) * s.across + l * s.along];
            }
            for (std::int64_t r = have; r < width; ++r) {
                into[l * width + r] = 0;
            }
        }
    }
}

void pack_a(Source s, std::int64_t rows, std::int64_t k, double* into) { pack(s, rows, k, 3 * lanes(), into); }
void pack_b(Source s, std::int64_t columns, std::int64_t k, double* into) { pack(s, columns, k, kColumns, into); }

const Kernels* kernels() {
    static const Kernels kKernels = {3 * lanes(), kColumns, 256, 24 * lanes(), 4096, pack_a, pack_b, multiply};
    return &kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace dgemm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgemm {

HWY_EXPORT(kernels);

const Kernels& simd_kernels() { return *HWY_DYNAMIC_DISPATCH(kernels)(); }

}  // namespace dgemm
#endif
