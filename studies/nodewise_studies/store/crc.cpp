// SPDX-License-Identifier: BSD-3-Clause
#include "crc.h"

#include <array>
#include <cstring>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace store {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // bits in reverse

constexpr std::array<std::uint32_t, 256> make_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) {
            value = (value >> 1) ^ ((value & 1U) != 0 ? kPolynomial : 0);
        }
        table[byte] = value;
    }
    return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(const void* data, std::size_t bytes) {
    const auto* from = static_cast<const unsigned char*>(data);
    std::uint64_t value = 0xffffffffU;
    for (; bytes >= sizeof(std::uint64_t); bytes -= sizeof(std::uint64_t), from += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, from, sizeof word);
        value = _mm_crc32_u64(value, word);
    }
    auto rest = static_cast<std::uint32_t>(value);
    for (; bytes > 0; --bytes, ++from) {
        rest = _mm_crc32_u8(rest, *from);
    }
    return ~rest;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(const void* data, std::size_t bytes) {
    const auto* from = static_cast<const unsigned char*>(data);
    std::uint32_t value = 0xffffffffU;
    for (std::size_t i = 0; i < bytes; ++i) {
        value = (value >> 8) ^ kTable[(value ^ from[i]) & 0xffU];
    }
    return ~value;
}

std::uint32_t crc32c(const void* data, std::size_t bytes) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2") != 0) {
        return by_instruction(data, bytes);
    }
#endif
    return crc32c_by_table(data, bytes);
}

}  // namespace store
