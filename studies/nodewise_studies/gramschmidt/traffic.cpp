// SPDX-License-Identifier: BSD-3-Clause
// What each variant does, and moves between memory and the last cache, counted in vectors of the rank's part. A pass
// over vectors finds in the cache what the passes since the last one over them left there: that is all of it where
// everything that they touched fits, and none else.
#include <algorithm>
#include <cmath>

#include "problem.h"
#include "study.h"

namespace gramschmidt {
namespace {

// Of vector j: how many vectors are read and written.
struct Moved {
    double read;
    double written;
};

template <typename OfVector>
void add_up(const nw_run* run, nw_work* out, const OfVector& of_vector, double projections) {
    const Problem p = problem(run);
    const double second = p.update ? 1 : 0;
    double read = 0;
    double written = 0;
    double flops = 0;
    for (int j = 0; j < p.vectors; ++j) {
        const Moved moved = of_vector(static_cast<double>(j), second);
        read += moved.read;
        written += moved.written;
        // a product and a subtraction of each earlier vector, the second basis, the norm, the factor
        flops += (4 * projections + 2 * second) * j + 3 + second;
    }
    const auto n = static_cast<double>(p.n);
    const double pairs = 0.5 * p.vectors * (p.vectors - 1);
    // what a user wants done, whichever way it is done
    out->items = ((4 + 2 * second) * pairs + (3 + second) * p.vectors) * n;
    out->flops = flops * n;
    out->bytes_read = 8 * n * read;
    out->bytes_written = 8 * n * written;
}

// Whether so many vectors stay in the last cache, which the ranks of a node share.
bool stay(const nw_run* run, double vectors) {
    const Problem p = problem(run);
    return vectors * static_cast<double>(p.n) * run->ranks * sizeof(double) <= last_cache();
}

}  // namespace

// The basis is read for the products, and again for what is subtracted unless a vector of it stays in the cache with w:
// each product needs all elements. The second basis is read once.
void work(const nw_run* run, nw_work* out) {
    const double passes = stay(run, 2) ? 1 : 2;
    add_up(
        run, out, [&](double j, double second) -> Moved { return {(passes + second) * j + 1 + second, 1 + second}; },
        1);
}

// Each step: a product reads two vectors, a subtraction reads two and writes one, both again for the second basis; then
// the copy, the norm and the factor. Where those of a step stay in the cache each basis is read once.
void modified_work(const nw_run* run, nw_work* out) {
    const bool kept = stay(run, 4);
    add_up(
        run, out,
        [&](double j, double second) -> Moved {
            return kept ? Moved{(1 + second) * (j + 1), 1 + second}
                        : Moved{(4 + 2 * second) * j + 3 + 2 * second, (1 + second) * j + 2 + 2 * second};
        },
        1);
}

void modified_deferred_work(const nw_run* run, nw_work* out) {
    const bool kept = stay(run, 2);
    add_up(
        run, out,
        [&](double j, double second) -> Moved {
            return kept ? Moved{(1 + second) * (j + 1), 1 + second}
                        : Moved{(4 + second) * j + 3 + 3 * second, j + 2 + 3 * second};
        },
        1);
}

// A pass for the products and one that subtracts, between which all of the basis was read; then those of copy and
// factor, unless the vector is still there.
void classic_work(const nw_run* run, nw_work* out) {
    const double again = stay(run, 2) ? 0 : 1;
    add_up(
        run, out,
        [&](double j, double second) -> Moved {
            return {(2 + second) * j + (1 + second) + again * (3 + 2 * second), (1 + 2 * again) * (1 + second)};
        },
        1);
}

void classic_twice_work(const nw_run* run, nw_work* out) {
    const double again = stay(run, 2) ? 0 : 1;
    add_up(
        run, out,
        [&](double j, double second) -> Moved {
            return {(4 + second) * j + (1 + second) + again * (5 + 2 * second), (1 + 2 * again) * (1 + second) + again};
        },
        2);
}

// A panel is read once where it stays in the cache until the next one was read, else twice; w once for each panel,
// unless it stays; d once.
void panels_work(const nw_run* run, nw_work* out) {
    const Problem p = problem(run);
    const bool kept = stay(run, 2 * p.panel + 2);
    const double passes = kept ? 1 : 2;
    add_up(
        run, out,
        [&](double j, double second) -> Moved {
            const double rounds = kept ? 0 : std::ceil(j / p.panel);
            return {(passes + second) * j + 1 + second + rounds, (kept ? 1 : rounds + 1) + second};
        },
        1 + 0.5 / std::max(1, p.vectors / p.panel));
}

}  // namespace gramschmidt
