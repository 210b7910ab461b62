// SPDX-License-Identifier: BSD-3-Clause
// The first two implementations, for any type of number: the study's is double, a test's counts its operations.
#pragma once

#include <cstdint>

namespace trapezoid {

template <typename Real>
__attribute__((noinline)) Real called(Real x) {
    return Real(4.0) / (Real(1.0) + x * x);
}

template <typename Real>
__attribute__((always_inline)) inline Real inlined(Real x) {
    return Real(4.0) / (Real(1.0) + x * x);
}

// 10 flops an interval: two calls of 3; the next x, the sum of both ends, times half a width, added.
template <typename Real>
Real sum_original(std::int64_t n, Real a, Real h) {
    Real sum(0.0);
    Real x = a;
    const Real half = h * Real(0.5);
    for (std::int64_t i = 0; i < n; ++i) {
        const Real next = x + h;
        sum = sum + (called(x) + called(next)) * half;
        x = next;
    }
    return sum;
}

// 12 flops an interval: x follows from the index, so that no interval waits for the one before.
template <typename Real>
Real sum_second(std::int64_t n, Real a, Real h) {
    Real sum(0.0);
    const Real half = h * Real(0.5);
    for (std::int64_t i = 0; i < n; ++i) {
        const Real x = a + Real(static_cast<double>(i)) * h;
        sum = sum + (inlined(x) + inlined(x + h)) * half;
    }
    return sum;
}

}  // namespace trapezoid
