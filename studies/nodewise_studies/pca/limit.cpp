// SPDX-License-Identifier: BSD-3-Clause
// What no variant can do without: reading every value once.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>

#include "pca.h"
#include "source.h"

namespace pca {
namespace {

constexpr std::size_t kLanes = 64;

// As bits, since a sum of floating-point numbers may not be split.
std::uint64_t read_bits(const std::uint64_t* words, std::size_t count) {
    std::uint64_t lane[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (std::size_t k = 0; k < kLanes; ++k) {
            lane[k] ^= words[i + k];
        }
    }
    for (; i < count; ++i) {
        lane[0] ^= words[i];
    }
    std::uint64_t all = 0;
    for (const std::uint64_t one : lane) {
        all ^= one;
    }
    return all;
}

}  // namespace

int read_all(nw_run* run) {
    std::uint64_t seen = 0;
    const auto threads = static_cast<std::size_t>(run->threads);
    try {
        Block block;
        Source& source = *state(run).source;
        for (source.rewind(); source.next(block);) {
            const bool dense = block.dense != nullptr;
            const std::size_t count = dense ? block.count * block.columns
                                            : static_cast<std::size_t>(block.ends[block.count - 1] - block.starts[0]);
            const auto* words = reinterpret_cast<const std::uint64_t*>(dense ? block.dense : block.value);
#pragma omp parallel for num_threads(run->threads) schedule(static, 1) reduction(^ : seen)
            for (std::size_t t = 0; t < threads; ++t) {
                const std::size_t begin = count * t / threads;
                seen ^= read_bits(words + begin, count * (t + 1) / threads - begin);
            }
        }
    } catch (const std::exception& problem) {
        return nw_fail(run, "%s", problem.what());
    }
    std::memcpy(nw_data(run, "eigenvalues"), &seen, sizeof seen);
    return 0;
}

}  // namespace pca
