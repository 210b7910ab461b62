// SPDX-License-Identifier: BSD-3-Clause
// XOR and products in GF(2^8) by vectors: called pair by pair, or once on arrays of pointers.
// vectors whose size is known when this is compiled: arrays of them stay in registers
#include "simd/fixed_width.h"
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

constexpr std::size_t kAhead = 2048;

enum class From { near, last_cache, memory };

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

// Products by shuffles: two tables of sixteen bytes for each coefficient.
struct ByShuffle {
    static constexpr std::size_t kVectors = 2;
    struct Factor {
        const std::uint8_t* table;
    };
    struct Source {
        V low;
        V high;
    };
    static HWY_INLINE Factor factor(const Part& part, std::size_t i) { return {part.tables + 32 * i}; }
    static HWY_INLINE Source source(const V& bytes) { return {hn::And(bytes, hn::Set(D(), 15)), high_half(bytes)}; }
    static HWY_INLINE V multiply(const Factor& factor, const Source& source) {
        return product(factor.table, source.low, source.high);
    }
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
#define NODEWISE_HAS_AFFINE 1
// Products by GFNI: a coefficient is a matrix of bits. No target of Highway's has that instruction, hence assembly.
struct ByAffine {
    static constexpr std::size_t kVectors = 4;
    struct Factor {
        V matrix;
    };
    struct Source {
        V bytes;
    };
    static HWY_INLINE Factor factor(const Part& part, std::size_t i) {
        const hn::Repartition<std::uint64_t, D> words;
        return {hn::BitCast(D(), hn::Set(words, part.matrices[i]))};
    }
    static HWY_INLINE Source source(V& bytes) {
        // else the compiler loads them again for each product, while the first load still waits for the cache
        asm("" : "+v"(bytes.raw));
        return {bytes};
    }
    static HWY_INLINE V multiply(const Factor& factor, const Source& source) {
        V result;
        asm("vgf2p8affineqb $0, %2, %1, %0" : "=v"(result.raw) : "v"(source.bytes.raw), "v"(factor.matrix.raw));
        return result;
    }
};
#endif

// Combinations of all sources; with kSum the first output is their XOR.
template <class By, std::size_t kOutputs, bool kSum, From kFrom>
HWY_INLINE std::size_t code_vectors(const Part& part, std::size_t at) {
    const D d;
    constexpr std::size_t kLanes = hn::MaxLanes(D());
    // as many sums as registers hold
    constexpr std::size_t kVectors = kOutputs < 3 ? By::kVectors : 2;
    for (; at + kVectors * kLanes <= part.end; at += kVectors * kLanes) {
        V sum[kOutputs][kVectors];
        for (std::size_t o = 0; o < kOutputs; ++o) {
            for (std::size_t i = 0; i < kVectors; ++i) {
                sum[o][i] = hn::Zero(d);
            }
        }
        for (std::size_t s = 0; s < part.source_count; ++s) {
            typename By::Factor factors[kOutputs];
            for (std::size_t o = 0; o < kOutputs; ++o) {
                factors[o] = By::factor(part, o * part.source_count + s);
            }
            for (std::size_t i = 0; i < kVectors; ++i) {
                if constexpr (kFrom == From::last_cache) {
                    hwy::Prefetch(part.sources[s] + at + i * kLanes + kAhead);
                }
                V bytes = hn::LoadU(d, part.sources[s] + at + i * kLanes);
                const typename By::Source source = By::source(bytes);
                for (std::size_t o = 0; o < kOutputs; ++o) {
                    sum[o][i] = hn::Xor(sum[o][i], kSum && o == 0 ? bytes : By::multiply(factors[o], source));
                }
            }
        }
        for (std::size_t o = 0; o < kOutputs; ++o) {
            for (std::size_t i = 0; i < kVectors; ++i) {
                put<kFrom != From::near>(sum[o][i], part.outputs[o] + at + i * kLanes);
            }
        }
    }
    return at;
}

// The sum, and the sum of the sources times powers of two, by doubling what was summed from the last source on.
template <bool kStream>
HWY_INLINE std::size_t doubling_vectors(const Part& part, std::size_t at) {
    const D d;
    const hn::RebindToSigned<D> is;
    constexpr std::size_t kLanes = hn::MaxLanes(D());
    constexpr std::size_t kVectors = 4;
    const V polynomial = hn::Set(d, 0x1d);
    for (; at + kVectors * kLanes <= part.end; at += kVectors * kLanes) {
        V sum[kVectors];
        V weighted[kVectors];
        for (std::size_t i = 0; i < kVectors; ++i) {
            sum[i] = weighted[i] = hn::LoadU(d, part.sources[part.source_count - 1] + at + i * kLanes);
        }
        for (std::size_t s = part.source_count - 1; s-- > 0;) {
            for (std::size_t i = 0; i < kVectors; ++i) {
                const V bytes = hn::LoadU(d, part.sources[s] + at + i * kLanes);
                const auto carried = hn::Lt(hn::BitCast(is, weighted[i]), hn::Zero(is));
                const V carry = hn::And(hn::BitCast(d, hn::VecFromMask(is, carried)), polynomial);
                sum[i] = hn::Xor(sum[i], bytes);
                weighted[i] = hn::Xor(hn::Add(weighted[i], weighted[i]), hn::Xor(carry, bytes));
            }
        }
        for (std::size_t i = 0; i < kVectors; ++i) {
            put<kStream>(sum[i], part.outputs[0] + at + i * kLanes);
            put<kStream>(weighted[i], part.outputs[1] + at + i * kLanes);
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

template <class By, From kFrom>
HWY_INLINE std::size_t any_vectors(const Part& part, std::size_t at) {
    switch (part.output_count) {
        case 1:
            return code_vectors<By, 1, false, kFrom>(part, at);
        case 2:
            return code_vectors<By, 2, false, kFrom>(part, at);
        default:
            return code_vectors<By, 3, false, kFrom>(part, at);
    }
}

template <From kFrom>
HWY_INLINE std::size_t vectors_of(const Part& part, bool affine) {
    constexpr bool kStream = kFrom != From::near;
    if (part.form == Form::sum) {
        const std::size_t at = xor_vectors<4, kStream>(part, part.begin);
        return xor_vectors<1, kStream>(part, at);
    }
#if defined(NODEWISE_HAS_AFFINE)
    if (affine) {
        return part.form == Form::sum_and_powers ? code_vectors<ByAffine, 2, true, kFrom>(part, part.begin)
                                                 : any_vectors<ByAffine, kFrom>(part, part.begin);
    }
#else
    (void)affine;
#endif
    return part.form == Form::sum_and_powers ? doubling_vectors<kStream>(part, part.begin)
                                             : any_vectors<ByShuffle, kFrom>(part, part.begin);
}

HWY_INLINE void combine(const Part& part, bool affine) {
    // each thread's stripes begin at whole lines, as streamed stores have to
    const std::size_t bytes = (part.source_count + part.output_count) * (part.end - part.begin);
    if (bytes > most_asked()) {
        rest(part, vectors_of<From::memory>(part, affine));
        hwy::FlushStream();
    } else if (bytes > most_near()) {
        rest(part, vectors_of<From::last_cache>(part, affine));
        hwy::FlushStream();
    } else {
        rest(part, vectors_of<From::near>(part, affine));
    }
}

void combine_shuffle(const Part& part) { combine(part, false); }

#if defined(NODEWISE_HAS_AFFINE)
void combine_array(const Part& part) {
    static const bool kAffine = __builtin_cpu_supports("gfni") != 0;
    combine(part, kAffine);
}
#undef NODEWISE_HAS_AFFINE
#else
void combine_array(const Part& part) { combine(part, false); }
#endif

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

// Where the vertical sums of a piece of a row wait for the next rows: those of ten blocks side by side, vector by
// vector.
constexpr std::size_t kPiece = 4096;
struct Waiting {
    alignas(kAlignment) std::uint8_t bytes[kRows * kPiece];
};

// Bytes `piece` to `to` of rows `first` to `first` + kHeight, of `rows` in all: their XOR across the sources, and their
// XOR down each stripe, which goes to its block with the last rows.
template <std::size_t kHeight, bool kStream>
HWY_INLINE void rows_both(const Both& both, std::size_t first, std::size_t rows, std::size_t piece, std::size_t to,
                          Waiting& waiting) {
    const D d;
    constexpr std::size_t kLanes = hn::MaxLanes(D());
    const std::size_t row = both.sizes->row;
    const bool begins = first == 0;
    const bool ends = first + kHeight == rows;
    // what is rebuilt is no source: its block is the sum of what was found across
    const std::size_t blocks_of_sources = both.rebuilds ? kRows - 1 : kRows;
    std::size_t at = piece;
    for (; at + kLanes <= to; at += kLanes) {
        std::uint8_t* wait = waiting.bytes + (at - piece) * kRows;
        V across[kHeight];
        for (std::size_t h = 0; h < kHeight; ++h) {
            across[h] = hn::Zero(d);
        }
        const auto keep = [&](std::size_t i, V sum) HWY_ATTR {
            if (ends) {
                put<kStream>(sum, both.blocks[i] + at);
            } else {
                hn::StoreU(sum, d, wait + i * kLanes);
            }
        };
        for (std::size_t i = 0; i < blocks_of_sources; ++i) {
            V sum = begins ? hn::Zero(d) : hn::LoadU(d, wait + i * kLanes);
            for (std::size_t h = 0; h < kHeight; ++h) {
                const V v = hn::LoadU(d, both.sources[i] + (first + h) * row + at);
                across[h] = hn::Xor(across[h], v);
                sum = hn::Xor(sum, v);
            }
            keep(i, sum);
        }
        if (both.rebuilds) {
            V sum = begins ? hn::Zero(d) : hn::LoadU(d, wait + (kRows - 1) * kLanes);
            for (std::size_t h = 0; h < kHeight; ++h) {
                across[h] = hn::Xor(across[h], hn::LoadU(d, both.sources[kRows - 1] + (first + h) * row + at));
                sum = hn::Xor(sum, across[h]);
            }
            keep(kRows - 1, sum);
        }
        for (std::size_t h = 0; h < kHeight; ++h) {
            put<kStream>(across[h], both.across + (first + h) * row + at);
        }
    }
}

// The same for single bytes, and all rows at once.
HWY_INLINE void bytes_both(const Both& both, std::size_t rows, std::size_t from, std::size_t to) {
    const std::size_t row = both.sizes->row;
    for (std::size_t at = from; at < to; ++at) {
        std::uint8_t down[kRows] = {};
        for (std::size_t r = 0; r < rows; ++r) {
            std::uint8_t across = 0;
            for (std::size_t i = 0; i < kRows; ++i) {
                const std::uint8_t v = both.sources[i][r * row + at];
                across ^= v;
                down[i] ^= v;
            }
            down[kRows - 1] =
                both.rebuilds ? down[kRows - 1] ^ both.sources[kRows - 1][r * row + at] ^ across : down[kRows - 1];
            both.across[r * row + at] = across;
        }
        for (std::size_t i = 0; i < kRows; ++i) {
            both.blocks[i][at] = down[i];
        }
    }
}

// Five rows of each stripe in turn: more rows are more streams than the processor foresees, fewer load and store the
// waiting sums too often.
template <bool kStream>
HWY_INLINE void piece_both(const Both& both, std::size_t rows, std::size_t from, std::size_t to, Waiting& waiting) {
    constexpr std::size_t kHeight = 5;
    constexpr std::size_t kLanes = hn::MaxLanes(D());
    const std::size_t whole = from + (to - from) / kLanes * kLanes;
    std::size_t r = 0;
    for (; r + kHeight <= rows; r += kHeight) {
        rows_both<kHeight, kStream>(both, r, rows, from, whole, waiting);
    }
    for (; r < rows; ++r) {
        rows_both<1, kStream>(both, r, rows, from, whole, waiting);
    }
    bytes_both(both, rows, whole, to);
}

template <bool kStream>
HWY_INLINE void all_both(const Both& both) {
    Waiting waiting;
    const std::size_t rows = both.sizes->rows;
    for (std::size_t from = both.begin; from < both.end; from += kPiece) {
        const std::size_t to = std::min(both.end, from + kPiece);
        // from `last` on the last row has no more bytes
        const std::size_t last = std::clamp(both.sizes->last(), from, to);
        piece_both<kStream>(both, rows, from, last, waiting);
        if (rows > 1) {
            piece_both<false>(both, rows - 1, last, to, waiting);
        }
    }
    if (kStream) {
        hwy::FlushStream();
    }
}

void combine_both(const Both& both) {
    if (kRows * kRows * (both.end - both.begin) > most_near()) {
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
HWY_EXPORT(combine_shuffle);
HWY_EXPORT(combine_pairwise);
HWY_EXPORT(combine_both);

int array(nw_run* run) {
    return run_steps(run, &HWY_DYNAMIC_DISPATCH(combine_array), &HWY_DYNAMIC_DISPATCH(combine_both));
}

int array_shuffle(nw_run* run) {
    return run_steps(run, &HWY_DYNAMIC_DISPATCH(combine_shuffle), &HWY_DYNAMIC_DISPATCH(combine_both));
}

int pairwise(nw_run* run) { return run_steps(run, &HWY_DYNAMIC_DISPATCH(combine_pairwise), nullptr); }

}  // namespace parity
#endif  // HWY_ONCE
