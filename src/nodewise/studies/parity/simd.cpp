// SPDX-License-Identifier: BSD-3-Clause
// XOR and products in GF(2^8) by vectors: called pair by pair, or once on arrays of pointers.
// vectors whose size is known when this is compiled: arrays of them stay in registers
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd.cpp"
#include "hwy/foreach_target.h"
// what is included above and below has to come in this order
#include <algorithm>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "study.h"

HWY_BEFORE_NAMESPACE();
namespace parity {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<std::uint8_t>;
using V = hn::VFromD<D>;

// More than this is not kept in a cache, so that lines which are only written need not be read first.
constexpr std::size_t kStreamed = 1 << 24;
// More vectors at once are faster from memory; from a cache they put too many lines into one of its sets, for stripes
// that lie powers of two apart.
constexpr std::size_t kUnrollCached = 2;
constexpr std::size_t kUnrollStreamed = 4;
constexpr std::size_t kAhead = 1024;

HWY_INLINE std::uint8_t product(const std::uint8_t* table, std::uint8_t byte) {
    return static_cast<std::uint8_t>(table[byte & 15] ^ table[16 + (byte >> 4)]);
}

// The products of the bytes by a coefficient, from its table's halves.
HWY_INLINE V product(const std::uint8_t* table, V low, V high) {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(D(), static_cast<std::uint8_t>(table[hn::GetLane(low)] ^ table[16 + hn::GetLane(high)]));
#else
    const D d;
    return hn::Xor(hn::TableLookupBytes(hn::LoadDup128(d, table), low),
                   hn::TableLookupBytes(hn::LoadDup128(d, table + 16), high));
#endif
}

HWY_INLINE V high_half(V bytes) {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(D(), static_cast<std::uint8_t>(hn::GetLane(bytes) >> 4));
#else
    const hn::Repartition<std::uint16_t, D> pairs;
    return hn::And(hn::BitCast(D(), hn::ShiftRight<4>(hn::BitCast(pairs, bytes))), hn::Set(D(), 15));
#endif
}

template <bool kStream>
HWY_INLINE void put(V v, std::uint8_t* into) {
    if (kStream) {
        hn::Stream(v, D(), into);
    } else {
        hn::StoreU(v, D(), into);
    }
}

// The XOR of all sources, from `at` on in steps of kVectors vectors; where it stopped. The last source comes first:
// next to the output, which was written last, it is the likeliest to be driven out.
template <std::size_t kVectors, bool kStream>
HWY_INLINE std::size_t xor_vectors(const Part& part, std::size_t at) {
    const D d;
    constexpr std::size_t kLanes = hn::MaxLanes(D());
    for (; at + kVectors * kLanes <= part.end; at += kVectors * kLanes) {
        V sum[kVectors];
        for (std::size_t i = 0; i < kVectors; ++i) {
            sum[i] = hn::LoadU(d, part.sources[part.source_count - 1] + at + i * kLanes);
        }
        for (std::size_t s = part.source_count - 1; s-- > 0;) {
            for (std::size_t i = 0; i < kVectors; ++i) {
                sum[i] = hn::Xor(sum[i], hn::LoadU(d, part.sources[s] + at + i * kLanes));
            }
        }
        for (std::size_t i = 0; i < kVectors; ++i) {
            put<kStream>(sum[i], part.outputs[0] + at + i * kLanes);
        }
    }
    return at;
}

template <std::size_t kOutputs, bool kStream>
HWY_INLINE std::size_t code_vectors(const Part& part, std::size_t at) {
    const D d;
    constexpr std::size_t kLanes = hn::MaxLanes(D());
    constexpr std::size_t kVectors = 2;
    for (; at + kVectors * kLanes <= part.end; at += kVectors * kLanes) {
        V sum[kOutputs][kVectors];
        for (std::size_t o = 0; o < kOutputs; ++o) {
            for (std::size_t i = 0; i < kVectors; ++i) {
                sum[o][i] = hn::Zero(d);
            }
        }
        for (std::size_t s = 0; s < part.source_count; ++s) {
            for (std::size_t i = 0; i < kVectors; ++i) {
                const V bytes = hn::LoadU(d, part.sources[s] + at + i * kLanes);
                const V low = hn::And(bytes, hn::Set(d, 15));
                const V high = high_half(bytes);
                for (std::size_t o = 0; o < kOutputs; ++o) {
                    const std::uint8_t* table = part.tables + 32 * (o * part.source_count + s);
                    sum[o][i] = hn::Xor(sum[o][i], product(table, low, high));
                }
            }
        }
        for (std::size_t o = 0; o < kOutputs; ++o) {
            for (std::size_t i = 0; i < kVectors; ++i) {
                put<kStream>(sum[o][i], part.outputs[o] + at + i * kLanes);
            }
        }
    }
    return at;
}

HWY_INLINE void rest(const Part& part, std::size_t begin) {
    for (std::size_t o = 0; o < part.output_count; ++o) {
        for (std::size_t at = begin; at < part.end; ++at) {
            std::uint8_t sum = 0;
            for (std::size_t s = 0; s < part.source_count; ++s) {
                sum ^= product(part.tables + 32 * (o * part.source_count + s), part.sources[s][at]);
            }
            part.outputs[o][at] = sum;
        }
    }
}

template <bool kStream>
HWY_INLINE void whole_array(const Part& part) {
    const bool sums = part.output_count == 1 && std::all_of(part.coefficients, part.coefficients + part.source_count,
                                                            [](std::uint8_t c) { return c == 1; });
    std::size_t at = part.begin;
    if (sums) {
        at = xor_vectors<kStream ? kUnrollStreamed : kUnrollCached, kStream>(part, at);
        at = xor_vectors<1, kStream>(part, at);
    } else if (part.output_count == 1) {
        at = code_vectors<1, kStream>(part, at);
    } else if (part.output_count == 2) {
        at = code_vectors<2, kStream>(part, at);
    } else {
        at = code_vectors<3, kStream>(part, at);
    }
    rest(part, at);
    if (kStream) {
        hwy::FlushStream();
    }
}

void combine_array(const Part& part) {
    // each thread's stripes begin at whole lines, as streamed stores have to
    if ((part.source_count + part.output_count) * (part.end - part.begin) > kStreamed) {
        whole_array<true>(part);
    } else {
        whole_array<false>(part);
    }
}

// One source into one output: what a routine of two operands does.
void combine_pair(const std::uint8_t* from, std::uint8_t* into, const std::uint8_t* table, bool one, bool first,
                  std::size_t begin, std::size_t end) {
    const D d;
    constexpr std::size_t kLanes = hn::MaxLanes(D());
    std::size_t at = begin;
    for (; at + kLanes <= end; at += kLanes) {
        V v = hn::LoadU(d, from + at);
        if (!one) {
            v = product(table, hn::And(v, hn::Set(d, 15)), high_half(v));
        }
        hn::StoreU(first ? v : hn::Xor(v, hn::LoadU(d, into + at)), d, into + at);
    }
    for (; at < end; ++at) {
        const std::uint8_t v = product(table, from[at]);
        into[at] = first ? v : into[at] ^ v;
    }
}

void combine_pairwise(const Part& part) {
    for (std::size_t o = 0; o < part.output_count; ++o) {
        for (std::size_t s = 0; s < part.source_count; ++s) {
            const std::size_t i = o * part.source_count + s;
            combine_pair(part.sources[s], part.outputs[o], part.tables + 32 * i, part.coefficients[i] == 1, s == 0,
                         part.begin, part.end);
        }
    }
}

// kHeight rows of all ten stripes in the bytes from `begin` to `end` of a row: each row's XOR across, and the rows' XOR
// into the ten vertical blocks, which stay in a near cache.
template <std::size_t kHeight, bool kStream>
HWY_INLINE void rows_both(const Both& both, std::size_t first, std::size_t begin, std::size_t end) {
    const D d;
    constexpr std::size_t kLanes = hn::MaxLanes(D());
    const std::size_t row = both.sizes->row;
    std::size_t at = begin;
    for (; at + kLanes <= end; at += kLanes) {
        V across[kHeight];
        for (std::size_t h = 0; h < kHeight; ++h) {
            across[h] = hn::Zero(d);
        }
        for (std::size_t i = 0; i < kRows; ++i) {
            std::uint8_t* down = both.vertical + i * row + at;
            V sum = first == 0 ? hn::Zero(d) : hn::LoadU(d, down);
            for (std::size_t h = 0; h < kHeight; ++h) {
                const V v = hn::LoadU(d, both.data[i] + (first + h) * row + at);
                if (kStream) {
                    // so many streams that the processor does not foresee all of them
                    hwy::Prefetch(both.data[i] + (first + h) * row + at + kAhead);
                }
                across[h] = hn::Xor(across[h], v);
                sum = hn::Xor(sum, v);
            }
            hn::StoreU(sum, d, down);
        }
        for (std::size_t h = 0; h < kHeight; ++h) {
            put<kStream>(across[h], both.horizontal + (first + h) * row + at);
        }
    }
    for (; at < end; ++at) {
        for (std::size_t h = 0; h < kHeight; ++h) {
            std::uint8_t across = 0;
            for (std::size_t i = 0; i < kRows; ++i) {
                std::uint8_t* down = both.vertical + i * row + at;
                const std::uint8_t v = both.data[i][(first + h) * row + at];
                across ^= v;
                *down = first == 0 && h == 0 ? v : *down ^ v;
            }
            both.horizontal[(first + h) * row + at] = across;
        }
    }
}

template <bool kStream>
HWY_INLINE void all_both(const Both& both) {
    // from memory longer pieces of a row, and the vertical blocks in the second cache
    constexpr std::size_t kTile = kStream ? 1 << 14 : 1 << 10;
    const std::size_t rows = both.sizes->rows;
    for (std::size_t begin = both.begin; begin < both.end; begin += kTile) {
        const std::size_t end = std::min(both.end, begin + kTile);
        std::size_t r = 0;
        for (; r + 2 < rows; r += 2) {
            rows_both<2, kStream>(both, r, begin, end);
        }
        for (; r < rows; ++r) {
            const std::size_t most = r + 1 == rows ? std::max(begin, std::min(end, both.sizes->last())) : end;
            rows_both<1, kStream>(both, r, begin, most);
        }
    }
    if (kStream) {
        hwy::FlushStream();
    }
}

void combine_both(const Both& both) {
    if (kRows * kRows * (both.end - both.begin) > kStreamed) {
        all_both<true>(both);
    } else {
        all_both<false>(both);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace parity
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parity {

HWY_EXPORT(combine_array);
HWY_EXPORT(combine_pairwise);
HWY_EXPORT(combine_both);

int array(nw_run* run) {
    return run_steps(run, &HWY_DYNAMIC_DISPATCH(combine_array), &HWY_DYNAMIC_DISPATCH(combine_both));
}

int pairwise(nw_run* run) { return run_steps(run, &HWY_DYNAMIC_DISPATCH(combine_pairwise), nullptr); }

}  // namespace parity
#endif  // HWY_ONCE
