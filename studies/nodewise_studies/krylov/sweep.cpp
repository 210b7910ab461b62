// SPDX-License-Identifier: BSD-3-Clause
// The limit: what each iteration of GMRES has to read of memory, and no more: the factors or the matrix once, and the
// vectors of the basis, twice where they do not stay in the cache, since each product needs all elements.
#include "simd_math/vectors.h"
#include "state.h"
#include "study.h"

namespace krylov {
namespace {

double read_part(const double* data, std::int64_t count, int part, int parts) {
    const auto whole = static_cast<std::uint64_t>(count);
    const auto begin = static_cast<std::int64_t>(nw_begin(whole, part, parts));
    const auto end = static_cast<std::int64_t>(nw_begin(whole, part + 1, parts));
    return simd_math::dot(data + begin, data + begin, end - begin);
}

}  // namespace

// Solves once to know how many iterations there are.
int prepare_sweep(nw_run* run) { return prepare_gmres(run) != 0 || gmres(run) != 0 ? 1 : 0; }

int sweep(nw_run* run) {
    const Problem p = problem(run);
    const Solver& solver = *state(run).solver;
    auto parts = solver.preconditioner.read();
    if (parts.size() < 2) {
        const std::int64_t entries = solver.matrix.begins()[p.n];
        parts.emplace_back(solver.matrix.values(), entries);
        parts.emplace_back(reinterpret_cast<const double*>(solver.matrix.columns()), entries / 2);
    }
    nw::on_parts(run, run->threads, [&](int, std::int64_t begin, std::int64_t end) {
        double sum = 0;
        for (std::int64_t t = begin; t < end; ++t) {
            const int thread = static_cast<int>(t);
            for (int i = 0; i < state(run).iterations; ++i) {
                for (const auto& [data, count] : parts) {
                    sum += read_part(data, count, thread, run->threads);
                }
                const int vectors = i % p.restart + 1;
                const auto bytes = static_cast<std::uint64_t>(vectors * p.n) * sizeof(double);
                for (int pass = 0; pass < (nw_exceeds_cache(bytes) != 0 ? 2 : 1); ++pass) {
                    for (int j = 0; j < vectors; ++j) {
                        sum += read_part(solver.basis.at(j), p.n, thread, run->threads);
                    }
                }
            }
        }
        // what no one uses would not be read
#pragma omp atomic
        state(run).read += sum;
    });
    return 0;
}

}  // namespace krylov
