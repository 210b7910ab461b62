// SPDX-License-Identifier: BSD-3-Clause
// Principal components: what the parts of the study hand to each other. Matrices are row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi/kernel.h"

namespace pca {

constexpr std::size_t kMostColumns = 4096;

enum class Method { correlation, covariance, svd };
enum class Shape { mixed, constant, duplicate, collinear };

// Neighbouring rows of the data: all their values (`dense`), or only those that are not 0: row i has
// value[starts[i] .. ends[i]) in the columns column[starts[i] .. ends[i]), which rise.
struct Block {
    std::size_t count = 0;
    std::size_t columns = 0;
    const double* dense = nullptr;
    const std::int64_t* starts = nullptr;
    const std::int64_t* ends = nullptr;
    const std::int32_t* column = nullptr;
    const double* value = nullptr;
};

// Rows in sum: how many, the columns' means, and the sums of products of deviations from them (whole, symmetric).
struct Moments {
    double count = 0;
    std::vector<double> mean;
    std::vector<double> cross;
};

// The same without squares: any matrix F, columns × columns, whose FᵀF are the sums of products.
struct Factor {
    double count = 0;
    std::vector<double> mean;
    std::vector<double> rows;
    // where a variant has them anyway: squares of the singular values of these rows with their columns scaled to norm
    // 1, and the right singular vectors as rows
    std::vector<double> values;
    std::vector<double> vectors;
};

// What the columns are moved by and multiplied with before rows are seen along the axes.
struct Frame {
    std::vector<double> mean;
    std::vector<double> scale;
};

class Source;

// What the study keeps from layout to release.
struct State {
    std::size_t rows = 0;
    std::size_t columns = 0;
    Method method = Method::correlation;
    Shape shape = Shape::mixed;
    bool sparse = false;
    bool streamed = false;
    double offset = 0;
    double density = 0;
    std::string file;
    std::size_t text_bytes = 0;  // of the file at a time, when it is streamed
    std::size_t block_rows = 0;  // at most in a block
    std::size_t projected = 0;   // components in which rows are given, too
    std::size_t kept = 0;        // components that are wanted: all, or the first
    bool leading = false;        // the first alone are wanted
    double accuracy = 0;         // of these: residuals, in the largest eigenvalue
    std::size_t stored = 0;      // values that are not 0, of sparse data in memory
    std::unique_ptr<Source> source;
    double* copy = nullptr;        // of a block, for the variants that change the data
    std::vector<double> expected;  // by check, of the data
    Frame frame;                   // by check
    State();
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;
};

inline State& state(const nw_run* run) { return *static_cast<State*>(run->own); }

// How a variant does the two steps. `moments` and `factor` get dense blocks only.
struct Variant {
    void (*moments)(nw_run* run, const Block& block, Moments& out);
    void (*factor)(nw_run* run, const Block& block, Factor& out);
    void (*eigen)(std::size_t size, double* matrix, double* values, double* vectors);
};

// The analysis of all blocks by a variant: fills eigenvalues and eigenvectors.
int analyse(nw_run* run, const Variant& variant);

// Sums of sparse rows, from what is stored alone.
void sparse_moments(const nw_run* run, const Block& block, Moments& out);

// Moments from sums of values less `shift` and of their products, of which those above the diagonal are used.
void finish_moments(std::size_t count, std::size_t columns, std::size_t stride, const double* shift, const double* sum,
                    const double* cross, Moments& out);

// Adds further rows to a sum of rows, without loss to means that are far from 0.
void merge(Moments& sum, const Moments& more);
void merge(Factor& sum, const Factor& more);

// Puts the components that are wanted in order, turns them, hands them out with the shares that they explain of the
// `variance`, and fills the projection. `vectors` has `count` rows.
void hand_out(nw_run* run, const Frame& frame, std::size_t count, double* values, double* vectors, double variance);

// What each column is divided by, as a factor, given its sum of squares: 1 for a covariance, 0 where it does not vary.
std::vector<double> scales(Method method, const std::vector<double>& squares, double count);

// Fills the projection: all rows along the first axes.
void project(nw_run* run, const Frame& frame, const double* vectors);

// The rows [first, first + count) of the generated data.
void generate_rows(const nw_run* run, std::size_t first, std::size_t count, double* into);
// One row's values that are not 0; how many there are. `column` and `value` have room for a whole row, or are null.
std::size_t generate_sparse_row(const nw_run* run, std::size_t row, std::int32_t* column, double* value);

// A point near the middle of the rows: the mean of some spread evenly. Exactly a column's value where that is constant.
std::vector<double> near_middle(const Block& block);

int plain(nw_run* run);
int prepare_plain(nw_run* run);
int blocked(nw_run* run);
int simd(nw_run* run);
int randomized(nw_run* run);
int read_all(nw_run* run);
void simd_work(const nw_run* run, nw_work* out);
void randomized_work(const nw_run* run, nw_work* out);
// What the projection adds to the work of the analysis.
void add_projection(const State& own, nw_work* out);

}  // namespace pca
