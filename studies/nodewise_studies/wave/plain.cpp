// SPDX-License-Identifier: BSD-3-Clause
// As the equations are written, left to the compiler.
#include <algorithm>

#include "flush.h"
#include "problem.h"
#include "study.h"

namespace wave {
namespace {

template <int kRadius>
void plane_of(const Problem& p, const State& s, int step, std::int64_t z) {
    for (std::int64_t y = 0; y < p.ny; ++y) {
        const float* __restrict now = p.now(step) + p.at(z, y);
        float* __restrict before = p.before(step) + p.at(z, y);
        const float* __restrict c = p.c + p.at(z, y);
        const float* __restrict keep_x = s.keep_x.data();
        const float kept = s.keep_z[static_cast<std::size_t>(z)] * s.keep_y[static_cast<std::size_t>(y)];
        for (std::int64_t x = 0; x < p.nx; ++x) {
            float sum = s.weight[0] * now[x];
            for (int k = 1; k <= kRadius; ++k) {
                sum += s.weight[k] * (now[x - k] + now[x + k] + now[x - k * p.row] + now[x + k * p.row] +
                                      now[x - k * p.plane] + now[x + k * p.plane]);
            }
            before[x] = now[x] + kept * keep_x[x] * (now[x] - before[x]) + c[x] * sum;
        }
        after_row(p, s, step, z, y);
    }
}

constexpr void (*kPlanes[])(const Problem&, const State&, int, std::int64_t) = {
    plane_of<1>, plane_of<2>, plane_of<3>, plane_of<4>, plane_of<5>, plane_of<6>, plane_of<7>, plane_of<8>};

}  // namespace

int plain(nw_run* run) {
    const Problem p = problem(run);
    const State& s = state(run);
    for (int step = 0; step < p.steps; ++step) {
        exchange(run, p, p.now(step), p.ghost, p.plane, p.radius);
#pragma omp parallel num_threads(run->threads)
        {
            const Flush flush;
#pragma omp for schedule(static)
            for (std::int64_t z = p.begin; z < p.end; ++z) {
                kPlanes[std::clamp(p.radius, 1, kMostRadius) - 1](p, s, step, z);
            }
        }
    }
    share_traces(run, p);
    return 0;
}

}  // namespace wave
