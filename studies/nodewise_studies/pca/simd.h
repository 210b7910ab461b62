// SPDX-License-Identifier: BSD-3-Clause
// The inner work of the variant `simd`, with the widest vectors that the processor has.
#pragma once

#include <cstddef>

namespace pca {

// Adds rows to sums. `stride` is the columns' number rounded up to what `simd_stride` says; so many elements have the
// vectors here, and so many rows and columns the matrices; what is beyond the columns is 0.
struct SumTask {
    const double* rows;
    std::size_t count;
    std::size_t columns;
    std::size_t stride;
    const double* shift;  // subtracted from each row
    double* sum;          // of what is left
    double* cross;        // products of that, on and above the diagonal
    // null, or: what is left is multiplied by `scale`, less `centre`, and turned by `axes` (stride × stride), and the
    // products are of that
    const double* scale;
    const double* centre;
    const double* axes;
    double* scratch;  // simd_scratch of them, cleared
};

// Adds to `image` (stride × width) what the rows' products with themselves make of `basis` (columns × width): the rows
// times the basis, and that by the same rows again while they are in cache. The rows are scaled as above, and their
// `sum` is not used; `width` is a multiple of kWidthUnit, and what is beyond the vectors is 0.
struct SketchTask {
    SumTask rows;
    std::size_t width;
    const double* basis;
    double* image;
};

constexpr std::size_t kWidthUnit = 8;

std::size_t simd_stride(std::size_t columns);
std::size_t simd_scratch(std::size_t stride);
void simd_sum(const SumTask& task);
std::size_t sketch_scratch(std::size_t stride, std::size_t width);
void simd_sketch(const SketchTask& task);

}  // namespace pca
