// SPDX-License-Identifier: BSD-3-Clause
// The rounds of the four functions on kGroups vectors of buffers each: one vector's steps wait for one another, so that
// a second one's are free. Included once per instruction set.
#if defined(HASH_ROUNDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HASH_ROUNDS_INL_H_
#undef HASH_ROUNDS_INL_H_
#else
#define HASH_ROUNDS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "constants.h"
#include "words-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hash {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<std::uint32_t>;
using D64 = hn::ScalableTag<std::uint64_t>;

// Loads the words of the block after, a quarter at a time, between rounds that wait for one another: all at once would
// come when the processor's queue is full of steps that cannot begin.
template <class F, std::size_t kGroups>
struct Ahead {
    using D = typename F::D;
    const std::uint8_t* const* data;
    std::size_t offset;
    hn::VFromD<D> (*words)[16];

    HWY_INLINE void quarter(std::size_t q) const {
        const D d;
        for (std::size_t g = 0; g < kGroups; ++g) {
            load_words<F::kBigEndian>(d, data + g * hn::MaxLanes(d), offset, 4 * q, words[g]);
        }
    }
};

template <std::size_t kGroups>
struct Md5 {
    using D = D32;
    using V = hn::VFromD<D>;
    static constexpr std::size_t kWords = 4;
    static constexpr bool kBigEndian = false;

    template <int kRound>
    static HWY_INLINE V mix(V b, V c, V d) {
        return kRound == 0   ? choose(b, c, d)
               : kRound == 1 ? choose(d, b, c)
               : kRound == 2 ? xor3(b, c, d)
                             : xor_or_not(b, c, d);
    }

    // Step `kStep` of a round, with the state's names turned so that nothing moves.
    template <int kRound, int kStep>
    static HWY_INLINE void step(V (*s)[kWords], V (*w)[16]) {
        constexpr int kWord = ((kRound == 0   ? 0
                                : kRound == 1 ? 1
                                : kRound == 2 ? 5
                                              : 0) +
                               (kRound == 0   ? 1
                                : kRound == 1 ? 5
                                : kRound == 2 ? 3
                                              : 7) *
                                   kStep) %
                              16;
        const D d;
        const V add = hn::Set(d, kMd5Add[16 * kRound + kStep]);
        for (std::size_t g = 0; g < kGroups; ++g) {
            V& a = s[g][(16 - kStep) % 4];
            const V b = s[g][(17 - kStep) % 4];
            const V early = settled(hn::Add(a, hn::Add(add, w[g][kWord])));
            const V sum = hn::Add(early, mix<kRound>(b, s[g][(18 - kStep) % 4], s[g][(19 - kStep) % 4]));
            a = hn::Add(b, rotate_left<kMd5Rotate[kRound][kStep % 4]>(sum));
        }
    }

    template <int kRound>
    static HWY_INLINE void round(V (*s)[kWords], V (*w)[16]) {
        step<kRound, 0>(s, w);
        step<kRound, 1>(s, w);
        step<kRound, 2>(s, w);
        step<kRound, 3>(s, w);
        step<kRound, 4>(s, w);
        step<kRound, 5>(s, w);
        step<kRound, 6>(s, w);
        step<kRound, 7>(s, w);
        step<kRound, 8>(s, w);
        step<kRound, 9>(s, w);
        step<kRound, 10>(s, w);
        step<kRound, 11>(s, w);
        step<kRound, 12>(s, w);
        step<kRound, 13>(s, w);
        step<kRound, 14>(s, w);
        step<kRound, 15>(s, w);
    }

    template <class Next>
    static HWY_INLINE void rounds(V (*s)[kWords], V (*w)[16], const Next& next) {
        round<0>(s, w);
        next.quarter(0);
        round<1>(s, w);
        next.quarter(1);
        round<2>(s, w);
        next.quarter(2);
        round<3>(s, w);
        next.quarter(3);
    }
};

template <std::size_t kGroups>
struct Sha1 {
    using D = D32;
    using V = hn::VFromD<D>;
    static constexpr std::size_t kWords = 5;
    static constexpr bool kBigEndian = true;

    template <int kQuarter>
    static HWY_INLINE V mix(V b, V c, V d) {
        return kQuarter == 0 ? choose(b, c, d) : kQuarter == 2 ? majority(b, c, d) : xor3(b, c, d);
    }

    template <int kQuarter>
    static HWY_INLINE void quarter(V (*s)[kWords], V (*w)[16]) {
        const V add = hn::Set(D(), kSha1Add[kQuarter]);
#pragma GCC unroll 20
        for (int i = 0; i < 20; ++i) {
            const int t = 20 * kQuarter + i;
            for (std::size_t g = 0; g < kGroups; ++g) {
                V& word = w[g][t % 16];
                if (t >= 16) {
                    const V late = hn::Xor(w[g][(t + 2) % 16], word);
                    word = rotate_left<1>(xor3(w[g][(t + 13) % 16], w[g][(t + 8) % 16], late));
                }
                V* v = s[g];
                const V early = settled(hn::Add(hn::Add(v[4], add), hn::Add(word, mix<kQuarter>(v[1], v[2], v[3]))));
                v[4] = v[3];
                v[3] = v[2];
                v[2] = rotate_left<30>(v[1]);
                v[1] = v[0];
                v[0] = hn::Add(rotate_left<5>(v[0]), early);
            }
        }
    }

    template <class Next>
    static HWY_INLINE void rounds(V (*s)[kWords], V (*w)[16], const Next& next) {
        quarter<0>(s, w);
        next.quarter(0);
        quarter<1>(s, w);
        next.quarter(1);
        quarter<2>(s, w);
        next.quarter(2);
        quarter<3>(s, w);
        next.quarter(3);
    }
};

template <int kA, int kB, int kC, class V>
HWY_INLINE V mix3(V v) {
    return xor3(hn::RotateRight<kA>(v), hn::RotateRight<kB>(v), hn::RotateRight<kC>(v));
}
template <int kA, int kB, int kShift, class V>
HWY_INLINE V spread(V v) {
    return xor3(hn::RotateRight<kA>(v), hn::RotateRight<kB>(v), hn::ShiftRight<kShift>(v));
}

struct Bits256 {
    using D = D32;
    using V = hn::VFromD<D>;
    static constexpr int kRounds = 64;
    static constexpr const std::uint32_t* kAdd = kSha256Add;
    static HWY_INLINE V sum0(V v) { return mix3<2, 13, 22>(v); }
    static HWY_INLINE V sum1(V v) { return mix3<6, 11, 25>(v); }
    static HWY_INLINE V schedule0(V v) { return spread<7, 18, 3>(v); }
    static HWY_INLINE V schedule1(V v) { return spread<17, 19, 10>(v); }
};

struct Bits512 {
    using D = D64;
    using V = hn::VFromD<D>;
    static constexpr int kRounds = 80;
    static constexpr const std::uint64_t* kAdd = kSha512Add;
    static HWY_INLINE V sum0(V v) { return mix3<28, 34, 39>(v); }
    static HWY_INLINE V sum1(V v) { return mix3<14, 18, 41>(v); }
    static HWY_INLINE V schedule0(V v) { return spread<1, 8, 7>(v); }
    static HWY_INLINE V schedule1(V v) { return spread<19, 61, 6>(v); }
};

template <class Bits, std::size_t kGroups>
struct Sha2 {
    using D = typename Bits::D;
    using V = typename Bits::V;
    static constexpr std::size_t kWords = 8;
    static constexpr bool kBigEndian = true;

    template <bool kSchedule>
    static HWY_INLINE void sixteen(V (*s)[kWords], V (*w)[16], const hn::TFromD<D>* add) {
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
            for (std::size_t g = 0; g < kGroups; ++g) {
                V& word = w[g][i];
                if (kSchedule) {
                    const V late = Bits::schedule1(w[g][(i + 14) % 16]);
                    word =
                        hn::Add(hn::Add(word, Bits::schedule0(w[g][(i + 1) % 16])), hn::Add(w[g][(i + 9) % 16], late));
                }
                V* v = s[g];
                const V early = settled(hn::Add(hn::Add(v[7], word), hn::Set(D(), add[i])));
                const V one = hn::Add(hn::Add(early, choose(v[4], v[5], v[6])), Bits::sum1(v[4]));
                const V two = hn::Add(Bits::sum0(v[0]), majority(v[0], v[1], v[2]));
                v[7] = v[6];
                v[6] = v[5];
                v[5] = v[4];
                v[4] = hn::Add(v[3], one);
                v[3] = v[2];
                v[2] = v[1];
                v[1] = v[0];
                v[0] = hn::Add(one, two);
            }
        }
    }

    template <class Next>
    static HWY_INLINE void rounds(V (*s)[kWords], V (*w)[16], const Next& next) {
        sixteen<false>(s, w, Bits::kAdd);
        for (std::size_t q = 0; q < 4; ++q) {
            next.quarter(q);
            if (16 * (static_cast<int>(q) + 1) < Bits::kRounds) {
                sixteen<true>(s, w, Bits::kAdd + 16 * (q + 1));
            }
        }
    }
};

}  // namespace HWY_NAMESPACE
}  // namespace hash
HWY_AFTER_NAMESPACE();

#endif  // HASH_ROUNDS_INL_H_
