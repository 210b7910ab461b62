// SPDX-License-Identifier: BSD-3-Clause
// The study's arrays and what is in them: generated rows, or those of a file.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>

#include "csv.h"
#include "pca.h"
#include "source.h"
#include "study.h"

namespace pca {
namespace {

constexpr std::size_t kTextAtOnce = std::size_t{1} << 20;  // of a file that is read into memory
constexpr std::size_t kUnbounded = ~std::size_t{0};
// what a process takes besides the data: the program, its libraries, stacks
constexpr std::size_t kOwnMemory = std::size_t{20} << 20;
// squares of columns × columns that an analysis holds: the threads' own, and a few for the result
constexpr std::size_t kSquares = 10;
constexpr double kConstant = 3.7;

// Streams of numbers that do not meet.
std::uint64_t stream(const nw_run* run, std::uint64_t which) {
    return (run->seed + 1) * 0xd1342543de82ef95U + (which << 60U);
}

struct Column {
    double mean;
    double scale;
};

Column column_of(const nw_run* run, std::size_t j) {
    const double mean = 20.0 * nw_uniform(nw_random(stream(run, 1), 2 * j)) - 10.0 + state(run).offset;
    return {mean, 1.0 + 3.0 * nw_uniform(nw_random(stream(run, 1), 2 * j + 1))};
}

std::size_t bytes_in_memory(const State& own) {
    const std::size_t cells = own.rows * own.columns * sizeof(double);
    return own.sparse ? own.stored * (sizeof(double) + sizeof(std::int32_t)) + own.rows * sizeof(std::int64_t)
                      : 2 * cells;  // the plain variant has a copy
}

void measure_file(nw_run* run) {
    State& own = state(run);
    CsvReader reader(own.file, kTextAtOnce, kUnbounded, own.sparse, run->threads);
    own.columns = reader.columns();
    own.rows = 0;
    Block block;
    while (reader.next(block)) {
        own.rows += block.count;
        for (std::size_t i = 0; own.sparse && i < block.count; ++i) {
            own.stored += static_cast<std::size_t>(block.ends[i] - block.starts[i]);
        }
    }
}

void count_stored(const nw_run* run, std::vector<std::int64_t>* starts) {
    State& own = state(run);
    std::vector<std::size_t> stored(own.rows);
#pragma omp parallel for num_threads(run->threads) schedule(static)
    for (std::size_t i = 0; i < own.rows; ++i) {
        stored[i] = generate_sparse_row(run, i, nullptr, nullptr);
    }
    own.stored = 0;
    for (std::size_t i = 0; i < own.rows; ++i) {
        if (starts != nullptr) {
            (*starts)[i] = static_cast<std::int64_t>(own.stored);
        }
        own.stored += stored[i];
    }
    if (starts != nullptr) {
        starts->back() = static_cast<std::int64_t>(own.stored);
    }
}

// Whether the data have to be streamed to stay within the bound, and how much of them at a time.
int bound_memory(nw_run* run, std::size_t bound) {
    State& own = state(run);
    const auto threads = static_cast<std::size_t>(run->threads);
    const std::size_t fixed = kOwnMemory + (kSquares + threads) * own.columns * own.columns * sizeof(double) +
                              own.rows * own.projected * sizeof(double);
    const std::size_t loading = own.file.empty() ? 0 : CsvReader::bytes(kTextAtOnce, own.columns, own.sparse);
    own.streamed = bytes_in_memory(own) + fixed + loading > bound;
    if (!own.streamed) {
        return 0;
    }
    // half of it for a copy of the block
    const std::size_t left = bound > fixed ? (bound - fixed) / 2 : 0;
    const std::size_t row = own.columns * (sizeof(double) + (own.sparse ? sizeof(std::int32_t) : 0)) + 16;
    own.text_bytes = CsvReader::text_within(left, own.columns, own.sparse);
    const bool enough = own.file.empty() ? left / row > 0 : own.text_bytes >= CsvReader::kLeastText;
    if (!enough) {
        const std::size_t least =
            own.file.empty() ? row : CsvReader::bytes(CsvReader::kLeastText, own.columns, own.sparse);
        return nw_fail(run,
                       "memory: %zu columns with %d threads take %zu bytes at least\nhint: give memory that much, take "
                       "fewer threads, or leave memory out: then all rows are held",
                       own.columns, run->threads, fixed + 2 * least + 4096);
    }
    const std::size_t fitting = own.file.empty() ? left / row : left / (own.columns * sizeof(double));
    own.block_rows = std::min(own.block_rows, fitting);
    return 0;
}

void declare(nw_run* run) {
    const State& own = state(run);
    if (!own.streamed && own.sparse) {
        nw_declare(run, "starts", NW_I64, NW_INPUT, own.rows + 1);
        nw_declare(run, "column", NW_I32, NW_INPUT, own.stored);
        nw_declare(run, "value", NW_F64, NW_INPUT, own.stored);
    } else if (!own.streamed) {
        nw_declare(run, "data", NW_F64, NW_INPUT, own.rows * own.columns);
    }
    nw_declare(run, "eigenvalues", NW_F64, NW_OUTPUT, own.kept);
    nw_declare(run, "eigenvectors", NW_F64, NW_OUTPUT, own.kept * own.columns);
    if (own.leading) {
        nw_declare(run, "variance", NW_F64, NW_OUTPUT, 1);
    }
    if (own.projected > 0) {
        nw_declare(run, "projection", NW_F64, NW_OUTPUT, own.rows * own.projected);
    }
}

void read_knobs(nw_run* run) {
    State& own = state(run);
    const auto is = [&](const char* knob, const char* text) {
        const char* given = nw_text(run, knob);
        return given != nullptr && std::strcmp(given, text) == 0;
    };
    own.rows = static_cast<std::size_t>(nw_number(run, "rows", 1000000));
    own.columns = static_cast<std::size_t>(nw_number(run, "columns", 64));
    own.offset = nw_number(run, "offset", 0);
    own.density = nw_number(run, "density", 5) / 100.0;
    own.sparse = is("input", "sparse");
    own.method = is("method", "svd")          ? Method::svd
                 : is("method", "covariance") ? Method::covariance
                                              : Method::correlation;
    own.shape = is("shape", "constant")    ? Shape::constant
                : is("shape", "duplicate") ? Shape::duplicate
                : is("shape", "collinear") ? Shape::collinear
                                           : Shape::mixed;
    own.file = nw_text(run, "file") != nullptr ? nw_text(run, "file") : "";
    own.projected = static_cast<std::size_t>(nw_number(run, "project", 0));
    own.kept = static_cast<std::size_t>(nw_number(run, "components", 0));
    own.leading = own.kept > 0;
    own.accuracy = std::pow(10.0, -nw_number(run, "digits", 6));
    own.block_rows = static_cast<std::size_t>(nw_number(run, "block", 0));
    own.block_rows = own.block_rows == 0 ? kUnbounded : own.block_rows;
}

void load(nw_run* run) {
    const State& own = state(run);
    CsvReader reader(own.file, kTextAtOnce, kUnbounded, own.sparse, run->threads);
    auto* data = static_cast<double*>(nw_data(run, own.sparse ? "value" : "data"));
    auto* column = static_cast<std::int32_t*>(nw_data(run, "column"));
    auto* starts = static_cast<std::int64_t*>(nw_data(run, "starts"));
    std::int64_t at = 0;
    Block block;
    while (reader.next(block)) {
        if (!own.sparse) {
            data = std::copy_n(block.dense, block.count * own.columns, data);
            continue;
        }
        for (std::size_t i = 0; i < block.count; ++i) {
            *starts++ = at;
            std::copy(block.column + block.starts[i], block.column + block.ends[i], column + at);
            std::copy(block.value + block.starts[i], block.value + block.ends[i], data + at);
            at += block.ends[i] - block.starts[i];
        }
    }
    if (own.sparse) {
        *starts = at;
    }
}

}  // namespace

State::State() = default;
State::~State() = default;

void generate_rows(const nw_run* run, std::size_t first, std::size_t count, double* into) {
    const State& own = state(run);
    const std::size_t d = own.columns;
    std::vector<Column> columns(d);
    for (std::size_t j = 0; j < d; ++j) {
        columns[j] = column_of(run, j);
    }
    const std::uint64_t numbers = stream(run, 2);
#pragma omp parallel for num_threads(run->threads) schedule(static)
    for (std::size_t i = 0; i < count; ++i) {
        double* row = into + i * d;
        const std::uint64_t base = (first + i) * (d + 1);
        // each column goes with its neighbour, so that the axes differ
        double chain = 0;
        for (std::size_t j = 0; j < d; ++j) {
            chain = 0.7 * chain + nw_uniform(nw_random(numbers, base + j)) - 0.5;
            row[j] = columns[j].mean + columns[j].scale * chain;
        }
        if (own.shape == Shape::constant) {
            row[d / 2] = kConstant + own.offset;
        } else if (own.shape == Shape::duplicate) {
            row[d - 1] = row[0];
        } else if (own.shape == Shape::collinear) {
            row[d - 1] = row[0] + 1e-7 * (nw_uniform(nw_random(numbers, base + d)) - 0.5);
        }
    }
}

std::size_t generate_sparse_row(const nw_run* run, std::size_t row, std::int32_t* column, double* value) {
    const State& own = state(run);
    const std::size_t d = own.columns;
    const std::uint64_t base = row * (2 * d + 1);
    // rows are of three kinds, whose columns are filled and valued differently
    const auto kind = static_cast<std::size_t>(3.0 * nw_uniform(nw_random(stream(run, 3), base + 2 * d)));
    std::size_t stored = 0;
    const auto put = [&](std::size_t j, double x) {
        if (column != nullptr) {
            column[stored] = static_cast<std::int32_t>(j);
            value[stored] = x;
        }
        ++stored;
    };
    double first = 0;
    for (std::size_t j = 0; j < d; ++j) {
        const double likely = own.density * (j % 3 == kind ? 2.0 : 0.5);
        const bool present = nw_uniform(nw_random(stream(run, 3), base + 2 * j)) < likely;
        double x =
            present ? 1.0 + static_cast<double>(kind + j % 5) + nw_uniform(nw_random(stream(run, 3), base + 2 * j + 1))
                    : 0.0;
        if (own.shape == Shape::constant && j == d / 2) {
            x = kConstant + own.offset;
        } else if (own.shape == Shape::duplicate && j + 1 == d && d > 1) {
            x = first;
        }
        first = j == 0 ? x : first;
        if (x != 0.0) {
            put(j, x);
        }
    }
    return stored;
}

int layout(nw_run* run) {
    run->own = new State();  // NOLINT: release deletes it
    State& own = state(run);
    read_knobs(run);
    try {
        if (!own.file.empty()) {
            measure_file(run);
        } else if (own.sparse) {
            count_stored(run, nullptr);
        }
    } catch (const std::exception& problem) {
        const bool hinted = std::strstr(problem.what(), "\nhint: ") != nullptr;
        return nw_fail(run, "%s%s", problem.what(),
                       hinted ? "" : "\nhint: a row a line, a number a cell, commas, semicolons or tabs between cells");
    }
    if (own.rows < 2) {
        return nw_fail(run, "%s%s%zu rows have no variance\nhint: two rows of numbers are needed at least",
                       own.file.c_str(), own.file.empty() ? "" : ": ", own.rows);
    }
    if (own.columns > kMostColumns) {
        return nw_fail(run, "%s: %zu columns, at most %zu can be analysed\nhint: leave some columns out",
                       own.file.c_str(), own.columns, kMostColumns);
    }
    if (own.kept > own.columns) {
        return nw_fail(run, "components: %zu columns have no %zu components\nhint: give components=%zu at most",
                       own.columns, own.kept, own.columns);
    }
    own.kept = own.leading ? own.kept : own.columns;
    if (own.projected > own.kept && own.leading) {
        return nw_fail(run, "project: of %zu components %zu are computed\nhint: give components=%zu at least",
                       own.projected, own.kept, own.projected);
    }
    if (own.projected > own.columns) {
        return nw_fail(run, "project: %zu columns have no %zu components\nhint: give project=%zu at most", own.columns,
                       own.projected, own.columns);
    }
    const double bound = nw_number(run, "memory", 0);
    if (bound > 0 && bound_memory(run, static_cast<std::size_t>(bound)) != 0) {
        return 1;
    }
    declare(run);
    return 0;
}

int fill(nw_run* run) {
    State& own = state(run);
    try {
        own.source = make_source(run);
        if (own.streamed) {
            return 0;
        }
        if (!own.file.empty()) {
            load(run);
        } else if (!own.sparse) {
            generate_rows(run, 0, own.rows, static_cast<double*>(nw_data(run, "data")));
        } else {
            std::vector<std::int64_t> starts(own.rows + 1);
            count_stored(run, &starts);
            std::copy(starts.begin(), starts.end(), static_cast<std::int64_t*>(nw_data(run, "starts")));
            auto* column = static_cast<std::int32_t*>(nw_data(run, "column"));
            auto* value = static_cast<double*>(nw_data(run, "value"));
#pragma omp parallel for num_threads(run->threads) schedule(static)
            for (std::size_t i = 0; i < own.rows; ++i) {
                generate_sparse_row(run, i, column + starts[i], value + starts[i]);
            }
        }
    } catch (const std::exception& problem) {
        return nw_fail(run, "%s", problem.what());
    }
    return 0;
}

int reset(nw_run* run) {
    // what a variant leaves out must not be there from the one before
    auto* vectors = static_cast<double*>(nw_data(run, "eigenvectors"));
    std::fill_n(vectors, state(run).kept * state(run).columns, 0.0);
    std::fill_n(static_cast<double*>(nw_data(run, "projection")), state(run).rows * state(run).projected, 0.0);
    return 0;
}

void add_projection(const State& own, nw_work* out) {
    if (own.projected == 0) {
        return;
    }
    const auto rows = static_cast<double>(own.rows);
    const auto kept = static_cast<double>(own.projected);
    // a second pass; a row is expanded, also a sparse one
    out->flops += 2.0 * rows * kept * static_cast<double>(own.columns);
    out->bytes_read *= 2.0;
    out->bytes_written += 8.0 * rows * kept;
}

void work(const nw_run* run, nw_work* out) {
    const State& own = state(run);
    const auto n = static_cast<double>(own.rows);
    const auto d = static_cast<double>(own.columns);
    out->items = n;
    if (own.sparse) {
        // if the stored values are spread evenly over the rows: a product and a sum for each pair of them
        const double each = static_cast<double>(own.stored) / n;
        out->flops = n * each * (each + 1.0);
        out->bytes_read = static_cast<double>(own.stored) * 12.0 + n * 8.0;
        add_projection(own, out);
        return;
    }
    // sums of products on and above the diagonal; a triangular factor takes twice as many operations
    out->flops = own.method == Method::svd ? 2.0 * n * d * d : n * d * (d + 1.0);
    out->bytes_read = n * d * 8.0;
    add_projection(own, out);
}

void release(nw_run* run) { delete static_cast<State*>(run->own); }

}  // namespace pca
