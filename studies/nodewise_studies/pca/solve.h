// SPDX-License-Identifier: BSD-3-Clause
// Small dense problems: eigenvalues, singular values, triangular factors. Matrices are row-major; an axis is a row.
#pragma once

#include <cstddef>

namespace pca {

// Eigenvalues of a symmetric matrix, which is overwritten, and their vectors as rows, in no order.
// By cyclic Jacobi rotations: keeps the relative accuracy of small values where the matrix is close to diagonal.
void eigen_jacobi(std::size_t size, double* matrix, double* values, double* vectors);
// By reduction to a tridiagonal matrix and implicit QL: several times faster, accurate to the largest value.
void eigen_tridiagonal(std::size_t size, double* matrix, double* values, double* vectors);

// Squares of the singular values of a square matrix, which is overwritten, and the right singular vectors as rows, by
// one-sided Jacobi rotations of its columns.
void singular_jacobi(std::size_t size, double* matrix, double* values, double* vectors);

// The triangular factor of `rows` × `columns` by Householder reflections, in place: rows beyond it become 0 or are left
// to be ignored. `scratch` has room for rows + columns.
void triangular_factor(double* matrix, std::size_t rows, std::size_t columns, double* scratch);

// Puts the axes in order of falling value, and turns each so that its component of the largest magnitude is positive;
// of magnitudes that agree to 1e-8 the first counts. `vectors` has `count` rows.
void sort_and_turn(std::size_t count, std::size_t size, double* values, double* vectors);

// The index of the component that the rule above makes positive.
std::size_t leading_component(const double* vector, std::size_t size);

}  // namespace pca
