// SPDX-License-Identifier: BSD-3-Clause
// Words of many buffers side by side: loading, and the logic that the functions share. Included once per instruction
// set.
#if defined(HASH_WORDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HASH_WORDS_INL_H_
#undef HASH_WORDS_INL_H_
#else
#define HASH_WORDS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hash {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The sum so far, which is not to be taken apart: a compiler that orders a sum anew adds what is known early last, and
// each step waits for one addition more.
template <class V>
HWY_INLINE V settled(V sum) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
    asm("" : "+v"(sum.raw));
#elif HWY_ARCH_ARM_A64 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
    asm("" : "+w"(sum.raw));
#endif
    return sum;
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// All three-way logic is one instruction: `kTable` is its truth table.
template <int kTable, class V>
HWY_INLINE V logic3(V a, V b, V c) {
    return V{_mm512_ternarylogic_epi32(a.raw, b.raw, c.raw, kTable)};
}
template <class V>
HWY_INLINE V choose(V mask, V yes, V no) {
    return logic3<0xca>(mask, yes, no);
}
template <class V>
HWY_INLINE V majority(V a, V b, V c) {
    return logic3<0xe8>(a, b, c);
}
template <class V>
HWY_INLINE V xor3(V a, V b, V c) {
    return logic3<0x96>(a, b, c);
}
// b ^ (a | ~c)
template <class V>
HWY_INLINE V xor_or_not(V a, V b, V c) {
    return logic3<0x39>(a, b, c);
}
#else
template <class V>
HWY_INLINE V choose(V mask, V yes, V no) {
    return hn::Xor(no, hn::And(mask, hn::Xor(yes, no)));
}
template <class V>
HWY_INLINE V majority(V a, V b, V c) {
    return hn::Xor(b, hn::And(hn::Xor(a, b), hn::Xor(b, c)));
}
template <class V>
HWY_INLINE V xor3(V a, V b, V c) {
    return hn::Xor(a, hn::Xor(b, c));
}
template <class V>
HWY_INLINE V xor_or_not(V a, V b, V c) {
    return hn::Xor(b, hn::Or(a, hn::Not(c)));
}
#endif

template <int kBits, class V>
HWY_INLINE V rotate_left(V v) {
    return hn::RotateRight<static_cast<int>(sizeof(hn::TFromV<V>)) * 8 - kBits>(v);
}

#if HWY_TARGET == HWY_SCALAR
// words[i] is word i of the block that begins at `offset`; loads four from `first` on.
template <bool kBigEndian, class D>
HWY_INLINE void load_words(D d, const std::uint8_t* const* data, std::size_t offset, std::size_t first,
                           hn::VFromD<D>* words) {
    using T = hn::TFromD<D>;
    for (std::size_t w = first; w < first + 4; ++w) {
        T word = 0;
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            const T byte = data[0][offset + w * sizeof(T) + i];
            word = static_cast<T>(word | byte << 8 * (kBigEndian ? sizeof(T) - 1 - i : i));
        }
        words[w] = hn::Set(d, word);
    }
}
#else
// 16 bytes of each of as many buffers as there are 128-bit blocks, `step` buffers apart.
template <class D>
HWY_INLINE hn::VFromD<D> load_blocks(D d, const std::uint8_t* const* data, std::size_t step, std::size_t offset) {
    if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) > 16) {
        const hn::Half<D> half;
        const std::size_t other = hn::MaxLanes(half) * sizeof(hn::TFromD<D>) / 16 * step;
        return hn::Combine(d, load_blocks(half, data + other, step, offset), load_blocks(half, data, step, offset));
    } else {
        const hn::Repartition<std::uint8_t, D> bytes;
        return hn::BitCast(d, hn::LoadU(bytes, data[0] + offset));
    }
}

// Big-endian words as numbers.
template <class D>
HWY_INLINE hn::VFromD<D> swap_bytes(D d, hn::VFromD<D> v) {
    const hn::Repartition<std::uint8_t, D> bytes;
    alignas(16) static constexpr std::uint8_t kWords4[] = {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12};
    alignas(16) static constexpr std::uint8_t kWords8[] = {7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8};
    const auto order = hn::LoadDup128(bytes, sizeof(hn::TFromD<D>) == 4 ? kWords4 : kWords8);
    return hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(bytes, v), order));
}

// words[i] is word i of the block that begins at `offset`, of each buffer; loads four from `first` on.
template <bool kBigEndian, class D>
HWY_INLINE void load_words(D d, const std::uint8_t* const* data, std::size_t offset, std::size_t first,
                           hn::VFromD<D>* words) {
    using V = hn::VFromD<D>;
    constexpr std::size_t kInBlock = 16 / sizeof(hn::TFromD<D>);
    for (std::size_t w = first; w < first + 4; w += kInBlock) {
        V in[kInBlock];
        for (std::size_t i = 0; i < kInBlock; ++i) {
            in[i] = load_blocks(d, data + i, kInBlock, offset + w * sizeof(hn::TFromD<D>));
            if (kBigEndian) {
                in[i] = swap_bytes(d, in[i]);
            }
        }
        if constexpr (kInBlock == 4) {
            const hn::Repartition<std::uint64_t, D> pairs;
            const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, in[0], in[1]));
            const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, in[2], in[3]));
            const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, in[0], in[1]));
            const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, in[2], in[3]));
            words[w] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
            words[w + 1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
            words[w + 2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
            words[w + 3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
        } else {
            words[w] = hn::InterleaveLower(d, in[0], in[1]);
            words[w + 1] = hn::InterleaveUpper(d, in[0], in[1]);
        }
    }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace hash
HWY_AFTER_NAMESPACE();

#endif  // HASH_WORDS_INL_H_
