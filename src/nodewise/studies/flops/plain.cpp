// SPDX-License-Identifier: BSD-3-Clause
// What the compiler makes of it: a loop over a few chains at a time, which it can vectorise for the instruction set
// that every processor of this kind has.
#include "chains.h"

namespace flops {

int plain(nw_run* run) {
    constexpr std::int64_t kGroup = 32;
    const Chains all = chains_of(run);
    const double one = factor;
    const double grow = addend;
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t begin = 0; begin < all.count; begin += kGroup) {
        const std::int64_t count = all.count - begin < kGroup ? all.count - begin : kGroup;
        double chains[kGroup] = {};
        for (std::int64_t i = 0; i < count; ++i) {
            chains[i] = all.start[begin + i];
        }
        for (std::int64_t s = 0; s < all.steps; ++s) {
            for (double& x : chains) {
                x = x * one + grow;
            }
        }
        for (std::int64_t i = 0; i < count; ++i) {
            all.end[begin + i] = chains[i];
        }
    }
    return 0;
}

}  // namespace flops
