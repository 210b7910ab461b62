// SPDX-License-Identifier: BSD-3-Clause
// How much the machine's caches hold, to choose arrays that do not fit.
#pragma once

#include <cstdint>

namespace bandwidth {

// Bytes of all last-level caches together; of a usual one where the system does not say.
std::uint64_t all_caches();

// Bytes of one array: `times` the caches, but not so much that three of them fill the memory.
std::uint64_t default_array(std::uint64_t caches, std::uint64_t times);

}  // namespace bandwidth
