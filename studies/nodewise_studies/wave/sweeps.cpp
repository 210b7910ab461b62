// SPDX-License-Identifier: BSD-3-Clause
// One step at a time by vectors: row after row, or tile after tile.
#include <algorithm>

#include "flush.h"
#include "rows.h"
#include "study.h"

namespace wave {
namespace {

struct Tile {
    std::int64_t planes, rows;
};

// Rows of a tile: as many as leave all planes that an update reaches in the caches, equal parts. Planes: a thread's.
Tile tile_of(const nw_run* run, const Problem& p) {
    Tile tile{static_cast<std::int64_t>(nw_number(run, "tile_z", 0)),
              static_cast<std::int64_t>(nw_number(run, "tile_y", 0))};
    if (tile.planes == 0) {
        tile.planes = std::max<std::int64_t>(1, (p.end - p.begin + run->threads - 1) / run->threads);
    }
    if (tile.rows == 0) {
        const std::int64_t reach = std::int64_t{2} * p.radius;
        const double row = sizeof(float) * static_cast<double>(p.row);
        const auto fitting = static_cast<std::int64_t>(cache_of_thread() / row / (2 * p.radius + 3)) - reach;
        const std::int64_t most = std::max<std::int64_t>(2 * reach, fitting);
        const std::int64_t tiles = (p.ny + most - 1) / most;
        tile.rows = (p.ny + tiles - 1) / tiles;
    }
    return tile;
}

}  // namespace

int simd(nw_run* run) {
    const Problem p = problem(run);
    const State& s = state(run);
    const UpdateRows update = update_rows(p.radius);
    for (int step = 0; step < p.steps; ++step) {
        exchange(run, p, p.now(step), p.ghost, p.plane, p.radius);
#pragma omp parallel num_threads(run->threads)
        {
            const Flush flush;
#pragma omp for schedule(static)
            for (std::int64_t z = p.begin; z < p.end; ++z) {
                advance(p, s, update, step, z, 0, p.ny);
            }
        }
    }
    share_traces(run, p);
    return 0;
}

int blocked(nw_run* run) {
    const Problem p = problem(run);
    const State& s = state(run);
    const UpdateRows update = update_rows(p.radius);
    const Tile tile = tile_of(run, p);
    for (int step = 0; step < p.steps; ++step) {
        exchange(run, p, p.now(step), p.ghost, p.plane, p.radius);
#pragma omp parallel num_threads(run->threads)
        {
            const Flush flush;
#pragma omp for schedule(static) collapse(2)
            for (std::int64_t z = p.begin; z < p.end; z += tile.planes) {
                for (std::int64_t y = 0; y < p.ny; y += tile.rows) {
                    for (std::int64_t plane = z; plane < std::min(z + tile.planes, p.end); ++plane) {
                        advance(p, s, update, step, plane, y, std::min(y + tile.rows, p.ny));
                    }
                }
            }
        }
    }
    share_traces(run, p);
    return 0;
}

int stream(nw_run* run) {
    const Problem p = problem(run);
    const StreamPart part = stream_part();
    // the planes of the slab without those around it
    const std::int64_t first = p.ghost * p.plane;
    const auto lines = static_cast<std::uint64_t>((p.end - p.begin) * p.nx * p.ny / kLine);
    for (int step = 0; step < p.steps; ++step) {
#pragma omp parallel for schedule(static) num_threads(run->threads)
        for (int t = 0; t < run->threads; ++t) {
            const Flush flush;
            const auto begin = first + kLine * static_cast<std::int64_t>(nw_begin(lines, t, run->threads));
            const auto end = first + kLine * static_cast<std::int64_t>(nw_begin(lines, t + 1, run->threads));
            part(p.now(step) + begin, p.before(step) + begin, p.c + begin, end - begin);
        }
    }
    return 0;
}

}  // namespace wave
