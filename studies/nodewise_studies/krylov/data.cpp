// SPDX-License-Identifier: BSD-3-Clause
// The system's arrays, and the check of a solution.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "abi/parts.h"
#include "state.h"
#include "study.h"

namespace krylov {
namespace {

// How much larger the residual may be than the one that the iterations went by: what rounding parts them by.
constexpr double kApart = 2;

bool is(const nw_run* run, const char* knob, const char* value) {
    const char* text = nw_text(run, knob);
    return text != nullptr && strcmp(text, value) == 0;
}

Rows rows_of(const nw_run* run) {
    const char* file = nw_text(run, "file");
    if (file != nullptr && *file != '\0') {
        return read_matrix(file, run->rank, run->ranks);
    }
    const auto side = static_cast<std::int64_t>(nw_number(run, "n", 1));
    if (side > 1290) {
        throw std::runtime_error("a grid of more than 1290 points a side has more than 2^31\nhint: give a smaller n");
    }
    return convection(side, nw_number(run, "flow", 0), run->rank, run->ranks);
}

int prepare(nw_run* run, bool second) {
    const auto begin = std::chrono::steady_clock::now();
    try {
        state(run).solver = std::make_unique<Solver>(run, problem(run), second);
    } catch (const std::exception& error) {
        return nw_fail(run, "%s", error.what());
    }
    state(run).setup_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return 0;
}

// All of x, on every rank.
std::vector<double> whole_solution(nw_run* run, const Problem& p) {
    std::vector<double> all(static_cast<std::size_t>(p.whole), 0.0);
    std::copy(p.x, p.x + p.n, all.begin() + p.first);
    run->sum(run, all.data(), all.size());
    return all;
}

}  // namespace

Problem problem(const nw_run* run) {
    const State& s = state(run);
    Problem p{};
    p.n = s.n;
    p.whole = s.whole;
    p.first = s.first;
    p.counts = static_cast<const std::int32_t*>(nw_data(run, "counts"));
    p.columns = static_cast<const std::int32_t*>(nw_data(run, "columns"));
    p.values = static_cast<const double*>(nw_data(run, "values"));
    p.b = static_cast<const double*>(nw_data(run, "b"));
    p.x = static_cast<double*>(nw_data(run, "x"));
    p.restart = static_cast<int>(nw_number(run, "restart", 30));
    p.tolerance = nw_number(run, "tolerance", 1e-8);
    p.most = static_cast<int>(nw_number(run, "most", 10000));
    p.chunk = static_cast<std::int64_t>(nw_number(run, "chunk", 16384));
    p.precondition = is(run, "precondition", "none")     ? Kind::none
                     : is(run, "precondition", "jacobi") ? Kind::jacobi
                                                         : Kind::ilu;
    const int asked = static_cast<int>(nw_number(run, "blocks", 0));
    const std::int64_t blocks = std::min<std::int64_t>(asked > 0 ? asked : run->threads, p.n);
    p.blocks = static_cast<int>(std::max<std::int64_t>(blocks, 1));
    return p;
}

int layout(nw_run* run) {
    if (!(nw_number(run, "tolerance", 1e-8) > 0 && nw_number(run, "tolerance", 1e-8) < 1)) {
        return nw_fail(run, "a tolerance of %g is not between 0 and 1\nhint: give tolerance=1e-8, say",
                       nw_number(run, "tolerance", 1e-8));
    }
    if (!(nw_number(run, "flow", 0) >= 0)) {
        return nw_fail(run, "a flow of %g is not 0 or more\nhint: give flow=0.5, say", nw_number(run, "flow", 0));
    }
    auto own = std::make_unique<State>();
    try {
        own->rows = rows_of(run);
    } catch (const std::bad_alloc&) {
        return nw_fail(run, "not enough memory for the matrix\nhint: make the problem smaller");
    } catch (const std::exception& error) {
        return nw_fail(run, "%s", error.what());
    }
    own->whole = own->rows.whole;
    own->first = own->rows.first;
    own->n = static_cast<std::int64_t>(own->rows.counts.size());
    const auto rows = static_cast<std::uint64_t>(own->n);
    const std::uint64_t entries = own->rows.columns.size();
    run->own = own.release();
    nw_declare(run, "counts", NW_I32, NW_INPUT, rows);
    nw_declare(run, "columns", NW_I32, NW_INPUT, entries);
    nw_declare(run, "values", NW_F64, NW_INPUT, entries);
    nw_declare(run, "b", NW_F64, NW_INPUT, rows);
    nw_declare(run, "x", NW_F64, NW_OUTPUT, rows);
    return 0;
}

// What layout read, and a right side of random numbers in [-1, 1), by the number of the row.
int fill(nw_run* run) {
    Rows& rows = state(run).rows;
    std::copy(rows.counts.begin(), rows.counts.end(), static_cast<std::int32_t*>(nw_data(run, "counts")));
    std::copy(rows.columns.begin(), rows.columns.end(), static_cast<std::int32_t*>(nw_data(run, "columns")));
    std::copy(rows.values.begin(), rows.values.end(), static_cast<double*>(nw_data(run, "values")));
    rows = Rows{};
    auto* b = static_cast<double*>(nw_data(run, "b"));
    const State& s = state(run);
    nw::on_parts(run, s.n, [&](int, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            b[i] = 2 * nw_uniform(nw_random(run->seed, static_cast<std::uint64_t>(s.first + i))) - 1;
        }
    });
    return reset(run);
}

// No number, so that what a solver does not write is seen.
int reset(nw_run* run) {
    auto* x = static_cast<double*>(nw_data(run, "x"));
    std::fill(x, x + state(run).n, std::numeric_limits<double>::quiet_NaN());
    return 0;
}

// |b - A x| from the arrays that were given, by none of the solvers' own ways.
int check(nw_run* run) {
    const Problem p = problem(run);
    const State& s = state(run);
    nw_report(run, "iterations", s.iterations);
    nw_report(run, "setup_s", s.setup_s);
    if (s.solver && run->ranks > 1) {
        nw_report(run, "communication_s", s.solver->communication_s());
    }
    const std::vector<double> x = whole_solution(run, p);
    double squares[2] = {0, 0};
    std::int64_t k = 0;
    for (std::int64_t i = 0; i < p.n; ++i) {
        double left = p.b[i];
        for (const std::int64_t end = k + p.counts[i]; k < end; ++k) {
            left -= p.values[k] * x[static_cast<std::size_t>(p.columns[k])];
        }
        squares[0] += left * left;
        squares[1] += p.b[i] * p.b[i];
    }
    run->sum(run, squares, 2);
    const double relative = std::sqrt(squares[0] / squares[1]);
    nw_report(run, "residual", relative);
    if (!(relative <= kApart * p.tolerance)) {
        return nw_fail(run, "|b - A x| is %.3g of |b|, not %.3g", relative, p.tolerance);
    }
    return 0;
}

void work(const nw_run* run, nw_work* out) { out->items = static_cast<double>(state(run).n); }

void release(nw_run* run) { delete static_cast<State*>(run->own); }

int prepare_gmres(nw_run* run) { return prepare(run, false); }
int prepare_orthomin(nw_run* run) { return prepare(run, true); }

}  // namespace krylov
