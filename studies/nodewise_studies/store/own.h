// SPDX-License-Identifier: BSD-3-Clause
// The study's own compression of the log, in LZ4's block format, which LZ4 itself expands: with and without AVX2.
#pragma once

#include <cstddef>
#include <cstdint>

namespace store {

// Bytes that packing may take at most.
std::size_t own_bound(std::size_t size);

// Where bytes were seen last, by a hash of them: what packing uses meanwhile.
constexpr int kHashBits = 14;
constexpr std::size_t kPlaces = std::size_t{1} << kHashBits;

// Packs; the number of bytes. `to` has room for own_bound of them, and there are kPlaces of `last`, all 0.
std::size_t pack_plain(const char* from, std::size_t size, char* to, std::uint32_t* last);
// The same bytes, matches being measured and copied 32 at a time; on a processor with AVX2 only.
std::size_t pack_avx2(const char* from, std::size_t size, char* to, std::uint32_t* last);
bool has_avx2();

}  // namespace store
