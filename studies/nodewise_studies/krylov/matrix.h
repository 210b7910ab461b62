// SPDX-License-Identifier: BSD-3-Clause
// Rows of a sparse matrix, as they are made or read from a file: columns by their number in the whole matrix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace krylov {

struct Rows {
    std::int64_t whole = 0;  // rows and columns of the whole matrix
    std::int64_t first = 0;  // the first row here
    std::vector<std::int32_t> counts;
    std::vector<std::int32_t> columns;  // ascending in each row
    std::vector<double> values;
};

// Diffusion and convection on a cube of side³ points with a boundary of zeros, by seven points, upwind (the flow goes
// along (1, 1/2, 1/4)); `flow` is the Péclet number of a cell along the first axis.
Rows convection(std::int64_t side, double flow, int rank, int ranks);

// The rows of `rank` of a matrix in a file of the Matrix Market, of coordinates: real, integer or pattern; general,
// symmetric or skew-symmetric. Raises runtime_error with file, line and what is wrong.
Rows read_matrix(const std::string& path, int rank, int ranks);

}  // namespace krylov
