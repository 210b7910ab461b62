// SPDX-License-Identifier: BSD-3-Clause
// What is done with pieces of vectors, by the best instructions that the processor has. A basis is `count` vectors that
// begin `stride` elements apart.
#pragma once

#include <cstdint>

namespace simd_math {

double dot(const double* x, const double* y, std::int64_t n);

// y += a x
void axpy(double* y, double a, const double* x, std::int64_t n);

void scale(double* y, double factor, std::int64_t n);

// out[i] += basis_i · x
void dots(const double* basis, std::int64_t stride, int count, const double* x, std::int64_t n, double* out);

// Both at once, so that the basis is read once: out_x[i] += basis_i · x, out_y[i] += basis_i · y
void dots_of_two(const double* basis, std::int64_t stride, int count, const double* x, const double* y, std::int64_t n,
                 double* out_x, double* out_y);

// y -= sum of a[i] basis_i
void subtract(double* y, const double* basis, std::int64_t stride, int count, const double* a, std::int64_t n);

}  // namespace simd_math
