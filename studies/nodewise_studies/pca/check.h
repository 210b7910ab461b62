// SPDX-License-Identifier: BSD-3-Clause
// What the two files that judge results hand to each other.
#pragma once

#include <vector>

#include "pca.h"

namespace pca {

// The matrix of the columns times vectors (rows), by a pass of its own over the rows, in plain sums.
std::vector<double> times_matrix(nw_run* run, const std::vector<double>& vectors);

// Whether the first components are components, and the first.
int check_leading(nw_run* run, const double* values, const double* vectors);

}  // namespace pca
