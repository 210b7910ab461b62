// SPDX-License-Identifier: BSD-3-Clause
#include "simd_math/vectors.h"

#include <algorithm>

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_math/vectors.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace simd_math {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<double>;
using V = hn::Vec<Tag>;

std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(Tag())); }

double dot_part(const double* x, const double* y, std::int64_t n) {
    const Tag d;
    const std::int64_t step = lanes();
    V s0 = hn::Zero(d);
    V s1 = s0;
    V s2 = s0;
    V s3 = s0;
    std::int64_t i = 0;
    for (; i + 4 * step <= n; i += 4 * step) {
        s0 = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), s0);
        s1 = hn::MulAdd(hn::LoadU(d, x + i + step), hn::LoadU(d, y + i + step), s1);
        s2 = hn::MulAdd(hn::LoadU(d, x + i + 2 * step), hn::LoadU(d, y + i + 2 * step), s2);
        s3 = hn::MulAdd(hn::LoadU(d, x + i + 3 * step), hn::LoadU(d, y + i + 3 * step), s3);
    }
    double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
    for (; i < n; ++i) {
        sum += x[i] * y[i];
    }
    return sum;
}

void axpy_part(double* HWY_RESTRICT y, double a, const double* HWY_RESTRICT x, std::int64_t n) {
    const Tag d;
    const std::int64_t step = lanes();
    const V factor = hn::Set(d, a);
    std::int64_t i = 0;
    for (; i + 2 * step <= n; i += 2 * step) {
        hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i);
        hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, x + i + step), hn::LoadU(d, y + i + step)), d, y + i + step);
    }
    for (; i < n; ++i) {
        y[i] += a * x[i];
    }
}

void scale_part(double* y, double factor, std::int64_t n) {
    const Tag d;
    const std::int64_t step = lanes();
    const V by = hn::Set(d, factor);
    std::int64_t i = 0;
    for (; i + step <= n; i += step) {
        hn::StoreU(hn::Mul(hn::LoadU(d, y + i), by), d, y + i);
    }
    for (; i < n; ++i) {
        y[i] *= factor;
    }
}

// Four vectors of the basis with one or two others: as many independent sums as hide the latency of an addition.
template <bool kTwo>
void dots_of_four(const double* const* b, const double* x, const double* y, std::int64_t n, double* out_x,
                  double* out_y) {
    const Tag d;
    const std::int64_t step = lanes();
    V x0 = hn::Zero(d);
    V x1 = x0;
    V x2 = x0;
    V x3 = x0;
    V y0 = x0;
    V y1 = x0;
    V y2 = x0;
    V y3 = x0;
    std::int64_t i = 0;
    for (; i + step <= n; i += step) {
        const V b0 = hn::LoadU(d, b[0] + i);
        const V b1 = hn::LoadU(d, b[1] + i);
        const V b2 = hn::LoadU(d, b[2] + i);
        const V b3 = hn::LoadU(d, b[3] + i);
        const V vx = hn::LoadU(d, x + i);
        x0 = hn::MulAdd(b0, vx, x0);
        x1 = hn::MulAdd(b1, vx, x1);
        x2 = hn::MulAdd(b2, vx, x2);
        x3 = hn::MulAdd(b3, vx, x3);
        if constexpr (kTwo) {
            const V vy = hn::LoadU(d, y + i);
            y0 = hn::MulAdd(b0, vy, y0);
            y1 = hn::MulAdd(b1, vy, y1);
            y2 = hn::MulAdd(b2, vy, y2);
            y3 = hn::MulAdd(b3, vy, y3);
        }
    }
    const double sums_x[4] = {hn::GetLane(hn::SumOfLanes(d, x0)), hn::GetLane(hn::SumOfLanes(d, x1)),
                              hn::GetLane(hn::SumOfLanes(d, x2)), hn::GetLane(hn::SumOfLanes(d, x3))};
    const double sums_y[4] = {hn::GetLane(hn::SumOfLanes(d, y0)), hn::GetLane(hn::SumOfLanes(d, y1)),
                              hn::GetLane(hn::SumOfLanes(d, y2)), hn::GetLane(hn::SumOfLanes(d, y3))};
    for (int k = 0; k < 4; ++k) {
        double rest_x = sums_x[k];
        double rest_y = sums_y[k];
        for (std::int64_t e = i; e < n; ++e) {
            rest_x += b[k][e] * x[e];
            if constexpr (kTwo) {
                rest_y += b[k][e] * y[e];
            }
        }
        out_x[k] += rest_x;
        if constexpr (kTwo) {
            out_y[k] += rest_y;
        }
    }
}

void dots_part(const double* basis, std::int64_t stride, int count, const double* x, const double* y, std::int64_t n,
               double* out_x, double* out_y) {
    int k = 0;
    for (; k + 4 <= count; k += 4) {
        const double* first = basis + k * stride;
        const double* const four[4] = {first, first + stride, first + 2 * stride, first + 3 * stride};
        if (y != nullptr) {
            dots_of_four<true>(four, x, y, n, out_x + k, out_y + k);
        } else {
            dots_of_four<false>(four, x, nullptr, n, out_x + k, nullptr);
        }
    }
    if (k < count) {
        // those that are left, the last of them in place of what is missing
        const double* four[4];
        double rest_x[4] = {};
        double rest_y[4] = {};
        for (int i = 0; i < 4; ++i) {
            four[i] = basis + std::min(k + i, count - 1) * stride;
        }
        if (y != nullptr) {
            dots_of_four<true>(four, x, y, n, rest_x, rest_y);
        } else {
            dots_of_four<false>(four, x, nullptr, n, rest_x, nullptr);
        }
        for (int i = 0; k + i < count; ++i) {
            out_x[k + i] += rest_x[i];
            if (y != nullptr) {
                out_y[k + i] += rest_y[i];
            }
        }
    }
}

void subtract_four(double* HWY_RESTRICT y, const double* const* b, const double* a, std::int64_t n) {
    const Tag d;
    const std::int64_t step = lanes();
    const double* HWY_RESTRICT b0 = b[0];
    const double* HWY_RESTRICT b1 = b[1];
    const double* HWY_RESTRICT b2 = b[2];
    const double* HWY_RESTRICT b3 = b[3];
    const V a0 = hn::Set(d, a[0]);
    const V a1 = hn::Set(d, a[1]);
    const V a2 = hn::Set(d, a[2]);
    const V a3 = hn::Set(d, a[3]);
    std::int64_t i = 0;
    for (; i + step <= n; i += step) {
        V sum = hn::NegMulAdd(a0, hn::LoadU(d, b0 + i), hn::LoadU(d, y + i));
        sum = hn::NegMulAdd(a1, hn::LoadU(d, b1 + i), sum);
        sum = hn::NegMulAdd(a2, hn::LoadU(d, b2 + i), sum);
        hn::StoreU(hn::NegMulAdd(a3, hn::LoadU(d, b3 + i), sum), d, y + i);
    }
    for (; i < n; ++i) {
        y[i] -= a[0] * b0[i] + a[1] * b1[i] + a[2] * b2[i] + a[3] * b3[i];
    }
}

void subtract_part(double* HWY_RESTRICT y, const double* basis, std::int64_t stride, int count, const double* a,
                   std::int64_t n) {
    int k = 0;
    for (; k + 4 <= count; k += 4) {
        const double* first = basis + k * stride;
        const double* const four[4] = {first, first + stride, first + 2 * stride, first + 3 * stride};
        subtract_four(y, four, a + k, n);
    }
    if (k + 1 == count) {
        axpy_part(y, -a[k], basis + k * stride, n);
    } else if (k < count) {
        // of the last one nothing more, in place of what is missing
        const double* four[4];
        double factors[4];
        for (int i = 0; i < 4; ++i) {
            four[i] = basis + std::min(k + i, count - 1) * stride;
            factors[i] = k + i < count ? a[k + i] : 0;
        }
        subtract_four(y, four, factors, n);
    }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace simd_math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace simd_math {

HWY_EXPORT(dot_part);
HWY_EXPORT(axpy_part);
HWY_EXPORT(scale_part);
HWY_EXPORT(dots_part);
HWY_EXPORT(subtract_part);

double dot(const double* x, const double* y, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(dot_part)(x, y, n); }

void axpy(double* y, double a, const double* x, std::int64_t n) { HWY_DYNAMIC_DISPATCH(axpy_part)(y, a, x, n); }

void scale(double* y, double factor, std::int64_t n) { HWY_DYNAMIC_DISPATCH(scale_part)(y, factor, n); }

void dots(const double* basis, std::int64_t stride, int count, const double* x, std::int64_t n, double* out) {
    HWY_DYNAMIC_DISPATCH(dots_part)(basis, stride, count, x, nullptr, n, out, nullptr);
}

void dots_of_two(const double* basis, std::int64_t stride, int count, const double* x, const double* y, std::int64_t n,
                 double* out_x, double* out_y) {
    HWY_DYNAMIC_DISPATCH(dots_part)(basis, stride, count, x, y, n, out_x, out_y);
}

void subtract(double* y, const double* basis, std::int64_t stride, int count, const double* a, std::int64_t n) {
    HWY_DYNAMIC_DISPATCH(subtract_part)(y, basis, stride, count, a, n);
}

}  // namespace simd_math
#endif
