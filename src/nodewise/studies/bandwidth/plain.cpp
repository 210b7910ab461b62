// SPDX-License-Identifier: BSD-3-Clause
// The triad as the STREAM benchmark states it, left to the compiler; and the C library's memcpy.
#include <omp.h>

#include <cstring>

#include "streams.h"

namespace bandwidth {

int plain(nw_run* run) {
    const State& own = state(run);
#pragma omp parallel num_threads(run->threads)
    {
        const Part part = part_of(run, omp_get_thread_num());
        double* __restrict__ a = part.a;
        const double* __restrict__ b = part.b;
        const double* __restrict__ c = part.c;
        for (std::int64_t p = 0; p < own.passes * kTriads; ++p) {
            for (std::int64_t i = 0; i < part.count; ++i) {
                a[i] = b[i] + kFactor * c[i];
            }
            __asm__ volatile("" ::: "memory");
        }
    }
    return 0;
}

int memcpy_peer(nw_run* run) {
    const State& own = state(run);
#pragma omp parallel num_threads(run->threads)
    {
        const Part part = part_of(run, omp_get_thread_num());
        // a pointer that is read again each time, so that no copy is left out
        const double* volatile from = part.c;
        for (std::int64_t p = 0; p < own.passes * kCopies; ++p) {
            std::memcpy(part.a, from, static_cast<std::size_t>(part.count) * sizeof(double));
            __asm__ volatile("" ::: "memory");
        }
    }
    return 0;
}

}  // namespace bandwidth
