// SPDX-License-Identifier: BSD-3-Clause
// The limit: whatever the function, every byte has to be read once.
#include <cstring>

#include "study.h"

namespace hash {

int read(nw_run* run) {
    const std::uint8_t* bytes = data(run);
    const std::uint64_t words = run->buffers[0].count / 8;
    std::uint64_t all = 0;
#pragma omp parallel for schedule(static) reduction(^ : all) num_threads(run->threads)
    for (std::uint64_t i = 0; i < words; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + 8 * i, 8);
        all ^= word;
    }
    digests(run)[0] = static_cast<std::uint8_t>(all);
    return 0;
}

}  // namespace hash
