// SPDX-License-Identifier: BSD-3-Clause
// Without AVX2: eight bytes at a time, as any processor has them.
#include "own.h"

#include <bit>

#include "own-inl.h"

namespace store {
namespace {

struct Words {
    // How many bytes are equal, of `most`.
    static std::size_t equal(const char* a, const char* b, std::size_t most) {
        std::size_t at = 0;
        for (; at + sizeof(std::uint64_t) <= most; at += sizeof(std::uint64_t)) {
            std::uint64_t x = 0;
            std::uint64_t y = 0;
            std::memcpy(&x, a + at, sizeof x);
            std::memcpy(&y, b + at, sizeof y);
            if (x != y && std::endian::native == std::endian::little) {
                return at + static_cast<std::size_t>(std::countr_zero(x ^ y)) / 8;
            }
            if (x != y) {
                return at + static_cast<std::size_t>(std::countl_zero(x ^ y)) / 8;
            }
        }
        while (at < most && a[at] == b[at]) {
            ++at;
        }
        return at;
    }
    static void copy(char* to, const char* from, std::size_t count) { std::memcpy(to, from, count); }
};

}  // namespace

std::size_t own_bound(std::size_t size) { return size + size / 255 + 16; }

std::size_t pack_plain(const char* from, std::size_t size, char* to, std::uint32_t* last) {
    return pack<Words>(from, size, to, last);
}

#if defined(__x86_64__)
bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }
#else
bool has_avx2() { return false; }
std::size_t pack_avx2(const char* from, std::size_t size, char* to, std::uint32_t* last) {
    return pack_plain(from, size, to, last);
}
#endif

}  // namespace store
