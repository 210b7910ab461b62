// SPDX-License-Identifier: BSD-3-Clause
// The linear congruential generator MMIX of D. Knuth, The Art of Computer Programming, volume 2, section 3.3.4.
#pragma once

#include <cstdint>

namespace isolation {

constexpr std::uint64_t kFactor = 6364136223846793005U;
constexpr std::uint64_t kAdded = 1442695040888963407U;

}  // namespace isolation
