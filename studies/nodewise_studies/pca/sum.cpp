// SPDX-License-Identifier: BSD-3-Clause
// Sums of products of columns: some rows at a time are moved close to 0 into the nearest caches, and a rectangle of
// sums is held in registers over all of them. While these are worked on, the next rows are fetched. rectangles of
// registers cannot be had where the vectors have no fixed size
#include "simd/fixed_width.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sum.cpp"
#include "hwy/foreach_target.h"
// Highway's own comes after it
#include <algorithm>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "simd.h"

#ifndef PCA_SUM_ONCE
#define PCA_SUM_ONCE
namespace pca {
// Numbers in cache at a time: half of a nearest cache of 48 KiB, since as many are being fetched.
constexpr std::size_t kNumbersAtOnce = 3072;
constexpr std::size_t kFewestRows = 48;

constexpr std::size_t rows_at_once(std::size_t stride) {
    return std::max(kFewestRows, kNumbersAtOnce / stride / 8 * 8);
}
}  // namespace pca
#endif

HWY_BEFORE_NAMESPACE();
namespace pca {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

// A rectangle has kTall broadcast values × kWide vectors: 24 of 32 registers, or 12 of 16.
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2
constexpr std::size_t kTall = 4;
#else
constexpr std::size_t kTall = 8;
#endif
constexpr std::size_t kWide = 3;
constexpr std::size_t kLine = 64;

// Memory to be fetched, a cache line a step, while something else is done.
struct Ahead {
    const char* at;
    std::size_t lines;
};

// sums[i][j] += Σ over rows of left[r * step + i * apart] · right[r * stride + j]: with apart = 1 products of columns,
// with apart = stride and step = 1 a product of matrices.
template <std::size_t kVectors, bool kAdd>
HWY_INLINE void rectangle(const double* HWY_RESTRICT left, std::size_t step, std::size_t apart,
                          const double* HWY_RESTRICT right, std::size_t stride, std::size_t rows,
                          double* HWY_RESTRICT sums, Ahead& ahead) {
    const D d;
    const std::size_t lanes = hn::Lanes(d);
    V held[kTall][kVectors];
    for (std::size_t i = 0; i < kTall; ++i) {
        for (std::size_t v = 0; v < kVectors; ++v) {
            held[i][v] = hn::Zero(d);
        }
    }
    const bool fetch = ahead.lines >= rows;
    const char* line = ahead.at;
    const std::size_t line_step = fetch ? kLine : 0;
    for (std::size_t r = 0; r < rows; ++r) {
        hwy::Prefetch(line);
        line += line_step;
        V across[kVectors];
        for (std::size_t v = 0; v < kVectors; ++v) {
            across[v] = hn::Load(d, right + r * stride + v * lanes);
        }
        for (std::size_t i = 0; i < kTall; ++i) {
            const V down = hn::Set(d, left[r * step + i * apart]);
            for (std::size_t v = 0; v < kVectors; ++v) {
                held[i][v] = hn::MulAdd(down, across[v], held[i][v]);
            }
        }
    }
    if (fetch) {
        ahead.at = line;
        ahead.lines -= rows;
    }
    for (std::size_t i = 0; i < kTall; ++i) {
        for (std::size_t v = 0; v < kVectors; ++v) {
            double* to = sums + i * stride + v * lanes;
            hn::Store(kAdd ? hn::Add(hn::Load(d, to), held[i][v]) : held[i][v], d, to);
        }
    }
}

// A row of rectangles, from vector `first` to the end.
template <bool kAdd>
HWY_INLINE void band(const double* left, std::size_t step, std::size_t apart, const double* right, std::size_t first,
                     std::size_t stride, std::size_t rows, double* sums, Ahead& ahead) {
    const std::size_t lanes = hn::Lanes(D());
    std::size_t rest = stride / lanes - first;
    for (std::size_t at = first * lanes; rest > 0;) {
        // 4 are 2 and 2: a rectangle of one vector waits for its own sums
        const std::size_t wide = rest == 4 ? 2 : std::min(rest, kWide);
        if (wide == 3) {
            rectangle<3, kAdd>(left, step, apart, right + at, stride, rows, sums + at, ahead);
        } else if (wide == 2) {
            rectangle<2, kAdd>(left, step, apart, right + at, stride, rows, sums + at, ahead);
        } else {
            rectangle<1, kAdd>(left, step, apart, right + at, stride, rows, sums + at, ahead);
        }
        at += wide * lanes;
        rest -= wide;
    }
}

void add_products(const double* near, std::size_t stride, std::size_t rows, double* cross, Ahead& ahead) {
    const std::size_t lanes = hn::Lanes(D());
    for (std::size_t i = 0; i < stride; i += kTall) {
        band<true>(near + i, stride, 1, near, i / lanes, stride, rows, cross + i * stride, ahead);
    }
}

void turn(const double* near, const double* axes, std::size_t stride, std::size_t rows, double* turned) {
    Ahead nothing{reinterpret_cast<const char*>(near), 0};
    for (std::size_t r = 0; r < rows; r += kTall) {
        band<false>(near + r * stride, 1, stride, axes, 0, stride, stride, turned + r * stride, nothing);
    }
}

// Moves a column of vectors close to 0, and scales it.
template <bool kScale>
HWY_INLINE void move_vectors(const SumTask& task, const double* rows, std::size_t count, std::size_t j, double* near) {
    const D d;
    const V shift = hn::LoadU(d, task.shift + j);
    const V scale = kScale ? hn::LoadU(d, task.scale + j) : hn::Zero(d);
    const V centre = kScale ? hn::LoadU(d, task.centre + j) : hn::Zero(d);
    V sum = hn::Zero(d);
    for (std::size_t r = 0; r < count; ++r) {
        V x = hn::Sub(hn::LoadU(d, rows + r * task.columns + j), shift);
        if (kScale) {
            x = hn::MulSub(x, scale, centre);
        } else {
            sum = hn::Add(sum, x);
        }
        hn::Store(x, d, near + r * task.stride + j);
    }
    if (!kScale) {
        hn::StoreU(hn::Add(hn::LoadU(d, task.sum + j), sum), d, task.sum + j);
    }
}

template <bool kScale>
HWY_INLINE void move_rows(const SumTask& task, const double* rows, std::size_t count, double* near) {
    const std::size_t lanes = hn::Lanes(D());
    const std::size_t whole = task.columns / lanes * lanes;
    for (std::size_t j = 0; j < whole; j += lanes) {
        move_vectors<kScale>(task, rows, count, j, near);
    }
    for (std::size_t j = whole; j < task.columns; ++j) {
        for (std::size_t r = 0; r < count; ++r) {
            const double x = rows[r * task.columns + j] - task.shift[j];
            near[r * task.stride + j] = kScale ? x * task.scale[j] - task.centre[j] : x;
            task.sum[j] += kScale ? 0.0 : x;
        }
    }
}

void sum(const SumTask& task) {
    const std::size_t stride = task.stride;
    double* near = task.scratch;
    const std::size_t most = rows_at_once(stride);
    double* turned = near + most * stride;
    for (std::size_t at = 0; at < task.count; at += most) {
        const std::size_t count = std::min(most, task.count - at);
        const double* rows = task.rows + at * task.columns;
        // rows of zeros add nothing
        const std::size_t filled = (count + kTall - 1) / kTall * kTall;
        if (filled > count) {
            std::fill(near + count * stride, near + filled * stride, 0.0);
        }
        const std::size_t next = std::min(most, task.count - at - count);
        Ahead ahead{reinterpret_cast<const char*>(rows + count * task.columns),
                    next * task.columns * sizeof(double) / kLine};
        if (task.axes == nullptr) {
            move_rows<false>(task, rows, count, near);
            add_products(near, stride, filled, task.cross, ahead);
        } else {
            move_rows<true>(task, rows, count, near);
            turn(near, task.axes, stride, filled, turned);
            add_products(turned, stride, filled, task.cross, ahead);
        }
    }
}

void sketch(const SketchTask& task) {
    const SumTask& data = task.rows;
    const std::size_t stride = data.stride;
    const std::size_t most = rows_at_once(stride);
    double* near = data.scratch;
    double* along = near + most * stride;
    for (std::size_t at = 0; at < data.count; at += most) {
        const std::size_t count = std::min(most, data.count - at);
        const std::size_t filled = (count + kTall - 1) / kTall * kTall;
        if (filled > count) {
            std::fill(near + count * stride, near + filled * stride, 0.0);
        }
        move_rows<true>(data, data.rows + at * data.columns, count, near);
        Ahead nothing{reinterpret_cast<const char*>(near), 0};
        for (std::size_t r = 0; r < filled; r += kTall) {
            band<false>(near + r * stride, 1, stride, task.basis, 0, task.width, data.columns, along + r * task.width,
                        nothing);
        }
        for (std::size_t i = 0; i < stride; i += kTall) {
            band<true>(near + i, stride, 1, along, 0, task.width, filled, task.image + i * task.width, nothing);
        }
    }
}

std::size_t stride_of(std::size_t columns) {
    const std::size_t unit = std::max<std::size_t>(kTall, hn::Lanes(D()));
    return (columns + unit - 1) / unit * unit;
}

}  // namespace HWY_NAMESPACE
}  // namespace pca
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pca {

HWY_EXPORT(sum);
HWY_EXPORT(stride_of);
HWY_EXPORT(sketch);

std::size_t simd_stride(std::size_t columns) { return HWY_DYNAMIC_DISPATCH(stride_of)(columns); }
std::size_t simd_scratch(std::size_t stride) { return 2 * rows_at_once(stride) * stride; }
void simd_sum(const SumTask& task) { HWY_DYNAMIC_DISPATCH(sum)(task); }
std::size_t sketch_scratch(std::size_t stride, std::size_t width) { return rows_at_once(stride) * (stride + width); }
void simd_sketch(const SketchTask& task) { HWY_DYNAMIC_DISPATCH(sketch)(task); }

}  // namespace pca
#endif
