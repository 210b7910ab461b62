// SPDX-License-Identifier: BSD-3-Clause
// SHA-1 and SHA-256 by the processor's own instructions, two or four buffers interleaved: a buffer's instructions wait
// for one another. Code for them is plain C in style, for these functions are compiled for a newer processor.
#include "engine.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#include "constants.h"
#define HASH_FOR_SHA __attribute__((target("sha,sse4.1")))
#define HASH_INLINE HASH_FOR_SHA __attribute__((always_inline)) static inline

namespace hash {
namespace {

bool has_instructions() {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_SSE4_1) == 0) {
        return false;
    }
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
}

// Four words of a block, big-endian, the first in the highest place where `kTurned`.
template <bool kTurned>
HASH_INLINE __m128i load4(const std::uint8_t* at) {
    const __m128i order = kTurned ? _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f)
                                  : _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)), order);
}

template <std::size_t kLanes>
HASH_FOR_SHA void sha1_blocks(void* state, const std::uint8_t* const* data, std::size_t blocks) {
    auto* column = static_cast<std::uint32_t*>(state);
    __m128i abcd[kLanes];
    __m128i e[kLanes];
    for (std::size_t l = 0; l < kLanes; ++l) {
        const std::uint32_t* s = column + l;
        abcd[l] = _mm_setr_epi32(static_cast<int>(s[3 * kColumns]), static_cast<int>(s[2 * kColumns]),
                                 static_cast<int>(s[kColumns]), static_cast<int>(s[0]));
        e[l] = _mm_set_epi32(static_cast<int>(s[4 * kColumns]), 0, 0, 0);
    }
    for (std::size_t block = 0; block < blocks; ++block) {
        __m128i first[kLanes];
        __m128i before[kLanes];  // the state four rounds ago: what e comes from
        __m128i w[kLanes][4];
        for (std::size_t l = 0; l < kLanes; ++l) {
            first[l] = abcd[l];
            for (std::size_t i = 0; i < 4; ++i) {
                w[l][i] = load4<true>(data[l] + 64 * block + 16 * i);
            }
        }
#pragma GCC unroll 20
        for (int i = 0; i < 20; ++i) {
            for (std::size_t l = 0; l < kLanes; ++l) {
                __m128i& now = w[l][i % 4];
                if (i >= 4) {
                    const __m128i mixed = _mm_xor_si128(_mm_sha1msg1_epu32(now, w[l][(i + 1) % 4]), w[l][(i + 2) % 4]);
                    now = _mm_sha1msg2_epu32(mixed, w[l][(i + 3) % 4]);
                }
                const __m128i in = i == 0 ? _mm_add_epi32(e[l], now) : _mm_sha1nexte_epu32(before[l], now);
                before[l] = abcd[l];
                abcd[l] = i < 5    ? _mm_sha1rnds4_epu32(abcd[l], in, 0)
                          : i < 10 ? _mm_sha1rnds4_epu32(abcd[l], in, 1)
                          : i < 15 ? _mm_sha1rnds4_epu32(abcd[l], in, 2)
                                   : _mm_sha1rnds4_epu32(abcd[l], in, 3);
            }
        }
        for (std::size_t l = 0; l < kLanes; ++l) {
            e[l] = _mm_sha1nexte_epu32(before[l], e[l]);
            abcd[l] = _mm_add_epi32(abcd[l], first[l]);
        }
    }
    for (std::size_t l = 0; l < kLanes; ++l) {
        std::uint32_t* s = column + l;
        s[0] = static_cast<std::uint32_t>(_mm_extract_epi32(abcd[l], 3));
        s[kColumns] = static_cast<std::uint32_t>(_mm_extract_epi32(abcd[l], 2));
        s[2 * kColumns] = static_cast<std::uint32_t>(_mm_extract_epi32(abcd[l], 1));
        s[3 * kColumns] = static_cast<std::uint32_t>(_mm_extract_epi32(abcd[l], 0));
        s[4 * kColumns] = static_cast<std::uint32_t>(_mm_extract_epi32(e[l], 3));
    }
}

template <std::size_t kLanes>
HASH_FOR_SHA void sha256_blocks(void* state, const std::uint8_t* const* data, std::size_t blocks) {
    auto* column = static_cast<std::uint32_t*>(state);
    __m128i abef[kLanes];
    __m128i cdgh[kLanes];
    for (std::size_t l = 0; l < kLanes; ++l) {
        const auto word = [&](std::size_t i) { return static_cast<int>(column[i * kColumns + l]); };
        abef[l] = _mm_setr_epi32(word(5), word(4), word(1), word(0));
        cdgh[l] = _mm_setr_epi32(word(7), word(6), word(3), word(2));
    }
    for (std::size_t block = 0; block < blocks; ++block) {
        __m128i first_abef[kLanes];
        __m128i first_cdgh[kLanes];
        __m128i w[kLanes][4];
        for (std::size_t l = 0; l < kLanes; ++l) {
            first_abef[l] = abef[l];
            first_cdgh[l] = cdgh[l];
            for (std::size_t i = 0; i < 4; ++i) {
                w[l][i] = load4<false>(data[l] + 64 * block + 16 * i);
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
            const __m128i add = _mm_loadu_si128(
                reinterpret_cast<const __m128i*>(kSha256Add + std::size_t{4} * static_cast<std::size_t>(i)));
            for (std::size_t l = 0; l < kLanes; ++l) {
                __m128i& now = w[l][i % 4];
                if (i >= 4) {
                    const __m128i last = w[l][(i + 3) % 4];
                    const __m128i nine = _mm_alignr_epi8(last, w[l][(i + 2) % 4], 4);
                    now = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[l][(i + 1) % 4]), nine);
                    now = _mm_sha256msg2_epu32(now, last);
                }
                const __m128i in = _mm_add_epi32(now, add);
                cdgh[l] = _mm_sha256rnds2_epu32(cdgh[l], abef[l], in);
                abef[l] = _mm_sha256rnds2_epu32(abef[l], cdgh[l], _mm_shuffle_epi32(in, 0x0e));
            }
        }
        for (std::size_t l = 0; l < kLanes; ++l) {
            abef[l] = _mm_add_epi32(abef[l], first_abef[l]);
            cdgh[l] = _mm_add_epi32(cdgh[l], first_cdgh[l]);
        }
    }
    for (std::size_t l = 0; l < kLanes; ++l) {
        std::uint32_t* s = column + l;
        s[0] = static_cast<std::uint32_t>(_mm_extract_epi32(abef[l], 3));
        s[kColumns] = static_cast<std::uint32_t>(_mm_extract_epi32(abef[l], 2));
        s[2 * kColumns] = static_cast<std::uint32_t>(_mm_extract_epi32(cdgh[l], 3));
        s[3 * kColumns] = static_cast<std::uint32_t>(_mm_extract_epi32(cdgh[l], 2));
        s[4 * kColumns] = static_cast<std::uint32_t>(_mm_extract_epi32(abef[l], 1));
        s[5 * kColumns] = static_cast<std::uint32_t>(_mm_extract_epi32(abef[l], 0));
        s[6 * kColumns] = static_cast<std::uint32_t>(_mm_extract_epi32(cdgh[l], 1));
        s[7 * kColumns] = static_cast<std::uint32_t>(_mm_extract_epi32(cdgh[l], 0));
    }
}

}  // namespace
}  // namespace hash
#elif defined(__aarch64__)
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "constants.h"
#define HASH_FOR_SHA __attribute__((target("+crypto")))
#define HASH_INLINE HASH_FOR_SHA __attribute__((always_inline)) static inline

namespace hash {
namespace {

bool has_instructions() {
    constexpr unsigned long kBoth = HWCAP_SHA1 | HWCAP_SHA2;
    return (getauxval(AT_HWCAP) & kBoth) == kBoth;
}

HASH_INLINE uint32x4_t load4(const std::uint8_t* at) { return vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(at))); }

template <std::size_t kLanes>
HASH_FOR_SHA void sha1_blocks(void* state, const std::uint8_t* const* data, std::size_t blocks) {
    auto* column = static_cast<std::uint32_t*>(state);
    uint32x4_t abcd[kLanes];
    std::uint32_t e[kLanes];
    for (std::size_t l = 0; l < kLanes; ++l) {
        for (std::size_t i = 0; i < 4; ++i) {
            abcd[l][i] = column[i * kColumns + l];
        }
        e[l] = column[4 * kColumns + l];
    }
    for (std::size_t block = 0; block < blocks; ++block) {
        uint32x4_t first[kLanes];
        std::uint32_t first_e[kLanes];
        uint32x4_t w[kLanes][4];
        for (std::size_t l = 0; l < kLanes; ++l) {
            first[l] = abcd[l];
            first_e[l] = e[l];
            for (std::size_t i = 0; i < 4; ++i) {
                w[l][i] = load4(data[l] + 64 * block + 16 * i);
            }
        }
#pragma GCC unroll 20
        for (int i = 0; i < 20; ++i) {
            const uint32x4_t add = vdupq_n_u32(kSha1Add[i / 5]);
            for (std::size_t l = 0; l < kLanes; ++l) {
                uint32x4_t& now = w[l][i % 4];
                if (i >= 4) {
                    now = vsha1su0q_u32(now, w[l][(i + 1) % 4], w[l][(i + 2) % 4]);
                    now = vsha1su1q_u32(now, w[l][(i + 3) % 4]);
                }
                const uint32x4_t in = vaddq_u32(now, add);
                const std::uint32_t next_e = vsha1h_u32(vgetq_lane_u32(abcd[l], 0));
                abcd[l] = i < 5               ? vsha1cq_u32(abcd[l], e[l], in)
                          : i >= 10 && i < 15 ? vsha1mq_u32(abcd[l], e[l], in)
                                              : vsha1pq_u32(abcd[l], e[l], in);
                e[l] = next_e;
            }
        }
        for (std::size_t l = 0; l < kLanes; ++l) {
            abcd[l] = vaddq_u32(abcd[l], first[l]);
            e[l] += first_e[l];
        }
    }
    for (std::size_t l = 0; l < kLanes; ++l) {
        for (std::size_t i = 0; i < 4; ++i) {
            column[i * kColumns + l] = abcd[l][i];
        }
        column[4 * kColumns + l] = e[l];
    }
}

template <std::size_t kLanes>
HASH_FOR_SHA void sha256_blocks(void* state, const std::uint8_t* const* data, std::size_t blocks) {
    auto* column = static_cast<std::uint32_t*>(state);
    uint32x4_t abcd[kLanes];
    uint32x4_t efgh[kLanes];
    for (std::size_t l = 0; l < kLanes; ++l) {
        for (std::size_t i = 0; i < 4; ++i) {
            abcd[l][i] = column[i * kColumns + l];
            efgh[l][i] = column[(4 + i) * kColumns + l];
        }
    }
    for (std::size_t block = 0; block < blocks; ++block) {
        uint32x4_t first_abcd[kLanes];
        uint32x4_t first_efgh[kLanes];
        uint32x4_t w[kLanes][4];
        for (std::size_t l = 0; l < kLanes; ++l) {
            first_abcd[l] = abcd[l];
            first_efgh[l] = efgh[l];
            for (std::size_t i = 0; i < 4; ++i) {
                w[l][i] = load4(data[l] + 64 * block + 16 * i);
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
            const uint32x4_t add = vld1q_u32(kSha256Add + 4 * i);
            for (std::size_t l = 0; l < kLanes; ++l) {
                uint32x4_t& now = w[l][i % 4];
                if (i >= 4) {
                    now = vsha256su0q_u32(now, w[l][(i + 1) % 4]);
                    now = vsha256su1q_u32(now, w[l][(i + 2) % 4], w[l][(i + 3) % 4]);
                }
                const uint32x4_t in = vaddq_u32(now, add);
                const uint32x4_t before = abcd[l];
                abcd[l] = vsha256hq_u32(before, efgh[l], in);
                efgh[l] = vsha256h2q_u32(efgh[l], before, in);
            }
        }
        for (std::size_t l = 0; l < kLanes; ++l) {
            abcd[l] = vaddq_u32(abcd[l], first_abcd[l]);
            efgh[l] = vaddq_u32(efgh[l], first_efgh[l]);
        }
    }
    for (std::size_t l = 0; l < kLanes; ++l) {
        for (std::size_t i = 0; i < 4; ++i) {
            column[i * kColumns + l] = abcd[l][i];
            column[(4 + i) * kColumns + l] = efgh[l][i];
        }
    }
}

}  // namespace
}  // namespace hash
#endif

namespace hash {

std::vector<Engine> instruction_engines(Function function) {
#if defined(__x86_64__) || defined(__aarch64__)
    if (function == Function::sha1 && has_instructions()) {
        return {{1, sha1_blocks<1>}, {2, sha1_blocks<2>}, {4, sha1_blocks<4>}};
    }
    if (function == Function::sha256 && has_instructions()) {
        return {{1, sha256_blocks<1>}, {2, sha256_blocks<2>}, {4, sha256_blocks<4>}};
    }
#endif
    return {};
}

}  // namespace hash
