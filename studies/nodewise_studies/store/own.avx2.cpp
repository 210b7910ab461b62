// SPDX-License-Identifier: BSD-3-Clause
// With AVX2: 32 bytes at a time.
#include <immintrin.h>

#include "own-inl.h"

namespace store {
namespace {

constexpr std::size_t kVector = 32;

struct Vectors {
    static std::size_t equal(const char* a, const char* b, std::size_t most) {
        std::size_t at = 0;
        for (; at + kVector <= most; at += kVector) {
            const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + at));
            const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + at));
            const auto same = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, y)));
            if (same != 0xffffffffU) {
                return at + static_cast<std::size_t>(__builtin_ctz(~same));
            }
        }
        while (at < most && a[at] == b[at]) {
            ++at;
        }
        return at;
    }
    static void copy(char* to, const char* from, std::size_t count) {
        std::size_t at = 0;
        for (; at + kVector <= count; at += kVector) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at),
                                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at)));
        }
        for (; at < count; ++at) {
            to[at] = from[at];
        }
    }
};

}  // namespace

std::size_t pack_avx2(const char* from, std::size_t size, char* to, std::uint32_t* last) {
    return pack<Vectors>(from, size, to, last);
}

}  // namespace store
