// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace store {

// CRC-32C (Castagnoli), by the processor's instruction where it has one.
std::uint32_t crc32c(const void* data, std::size_t bytes);
// The same from a table, for any processor.
std::uint32_t crc32c_by_table(const void* data, std::size_t bytes);

}  // namespace store
