// SPDX-License-Identifier: BSD-3-Clause
// Each load says where the next one goes, so that none begins before the last one has ended.
#include "study.h"
#include "walk.h"

namespace latency {

int chase(nw_run* run) {
    const Walk walk = walk_of(run);
#pragma omp parallel for schedule(static, 1) num_threads(run->threads)
    for (int t = 0; t < run->threads; ++t) {
        std::int64_t at = walk.order[start_of(run, walk, t)] * kLine;
        for (std::int64_t s = 0; s < walk.steps; ++s) {
            at = walk.chain[at];
        }
        walk.ends[t] = at / kLine;
    }
    *walk.end = walk.ends[0];
    return 0;
}

}  // namespace latency
