// SPDX-License-Identifier: BSD-3-Clause
// The four functions as their definitions say, one buffer at a time and in no instruction set's terms.
#include <bit>
#include <cstring>

#include "constants.h"
#include "engine.h"

namespace hash {
namespace {

constexpr std::size_t kBlockWords = 16;

template <class Word>
Word load_big(const std::uint8_t* bytes) {
    Word word = 0;
    for (std::size_t i = 0; i < sizeof(Word); ++i) {
        word = static_cast<Word>(word << 8 | bytes[i]);
    }
    return word;
}

template <class Word>
Word load_little(const std::uint8_t* bytes) {
    Word word = 0;
    for (std::size_t i = sizeof(Word); i-- > 0;) {
        word = static_cast<Word>(word << 8 | bytes[i]);
    }
    return word;
}

struct Md5 {
    using Word = std::uint32_t;
    static constexpr std::size_t kWords = 4;

    template <int kRound>
    static void round(Word* s, const Word* w) {
        constexpr int kStride[] = {1, 5, 3, 7};
        constexpr int kStart[] = {0, 1, 5, 0};
        for (int i = 0; i < 16; ++i) {
            const Word b = s[1];
            const Word c = s[2];
            const Word d = s[3];
            const Word mixed = kRound == 0   ? (b & c) | (~b & d)
                               : kRound == 1 ? (d & b) | (~d & c)
                               : kRound == 2 ? b ^ c ^ d
                                             : c ^ (b | ~d);
            const Word sum = s[0] + mixed + kMd5Add[16 * kRound + i] + w[(kStart[kRound] + kStride[kRound] * i) % 16];
            s[0] = d;
            s[3] = c;
            s[2] = b;
            s[1] = b + std::rotl(sum, kMd5Rotate[kRound][i % 4]);
        }
    }

    static void block(Word* s, const std::uint8_t* data) {
        Word w[kBlockWords];
        for (std::size_t i = 0; i < kBlockWords; ++i) {
            w[i] = load_little<Word>(data + sizeof(Word) * i);
        }
        round<0>(s, w);
        round<1>(s, w);
        round<2>(s, w);
        round<3>(s, w);
    }
};

struct Sha1 {
    using Word = std::uint32_t;
    static constexpr std::size_t kWords = 5;

    template <int kQuarter>
    static void quarter(Word* s, Word* w) {
#pragma GCC unroll 20
        for (int i = 0; i < 20; ++i) {
            Word& word = w[(20 * kQuarter + i) % 16];
            if (20 * kQuarter + i >= 16) {
                const int t = 20 * kQuarter + i;
                word = std::rotl(w[(t + 13) % 16] ^ w[(t + 8) % 16] ^ w[(t + 2) % 16] ^ word, 1);
            }
            const Word mixed = kQuarter == 0   ? s[3] ^ (s[1] & (s[2] ^ s[3]))
                               : kQuarter == 2 ? (s[1] & s[2]) + (s[3] & (s[1] ^ s[2]))
                                               : s[1] ^ s[2] ^ s[3];
            const Word next = std::rotl(s[0], 5) + mixed + s[4] + kSha1Add[kQuarter] + word;
            s[4] = s[3];
            s[3] = s[2];
            s[2] = std::rotl(s[1], 30);
            s[1] = s[0];
            s[0] = next;
        }
    }

    static void block(Word* s, const std::uint8_t* data) {
        Word w[kBlockWords];
        for (std::size_t i = 0; i < kBlockWords; ++i) {
            w[i] = load_big<Word>(data + sizeof(Word) * i);
        }
        quarter<0>(s, w);
        quarter<1>(s, w);
        quarter<2>(s, w);
        quarter<3>(s, w);
    }
};

// SHA-256 and SHA-512 differ in their words, constants and rotations only.
struct Bits256 {
    using Word = std::uint32_t;
    static constexpr int kRounds = 64;
    static constexpr const Word* kAdd = kSha256Add;
    static Word sum0(Word x) { return std::rotr(x, 2) ^ std::rotr(x, 13) ^ std::rotr(x, 22); }
    static Word sum1(Word x) { return std::rotr(x, 6) ^ std::rotr(x, 11) ^ std::rotr(x, 25); }
    static Word schedule0(Word x) { return std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3; }
    static Word schedule1(Word x) { return std::rotr(x, 17) ^ std::rotr(x, 19) ^ x >> 10; }
};

struct Bits512 {
    using Word = std::uint64_t;
    static constexpr int kRounds = 80;
    static constexpr const Word* kAdd = kSha512Add;
    static Word sum0(Word x) { return std::rotr(x, 28) ^ std::rotr(x, 34) ^ std::rotr(x, 39); }
    static Word sum1(Word x) { return std::rotr(x, 14) ^ std::rotr(x, 18) ^ std::rotr(x, 41); }
    static Word schedule0(Word x) { return std::rotr(x, 1) ^ std::rotr(x, 8) ^ x >> 7; }
    static Word schedule1(Word x) { return std::rotr(x, 19) ^ std::rotr(x, 61) ^ x >> 6; }
};

template <class Bits>
struct Sha2 {
    using Word = typename Bits::Word;
    static constexpr std::size_t kWords = 8;

    template <bool kSchedule>
    static void sixteen(Word* s, Word* w, const Word* add) {
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
            if (kSchedule) {
                w[i] += Bits::schedule0(w[(i + 1) % 16]) + w[(i + 9) % 16] + Bits::schedule1(w[(i + 14) % 16]);
            }
            const Word chosen = s[6] ^ (s[4] & (s[5] ^ s[6]));
            const Word most = (s[0] & s[1]) + (s[2] & (s[0] ^ s[1]));
            const Word one = s[7] + Bits::sum1(s[4]) + chosen + add[i] + w[i];
            const Word two = Bits::sum0(s[0]) + most;
            s[7] = s[6];
            s[6] = s[5];
            s[5] = s[4];
            s[4] = s[3] + one;
            s[3] = s[2];
            s[2] = s[1];
            s[1] = s[0];
            s[0] = one + two;
        }
    }

    static void block(Word* s, const std::uint8_t* data) {
        Word w[kBlockWords];
        for (std::size_t i = 0; i < kBlockWords; ++i) {
            w[i] = load_big<Word>(data + sizeof(Word) * i);
        }
        sixteen<false>(s, w, Bits::kAdd);
        for (int i = 16; i < Bits::kRounds; i += 16) {
            sixteen<true>(s, w, Bits::kAdd + i);
        }
    }
};

template <class F>
void run_blocks(void* state, const std::uint8_t* const* data, std::size_t blocks) {
    using Word = typename F::Word;
    auto* column = static_cast<Word*>(state);
    Word kept[F::kWords];
    for (std::size_t i = 0; i < F::kWords; ++i) {
        kept[i] = column[i * kColumns];
    }
    for (const std::uint8_t* at = data[0]; blocks > 0; --blocks, at += kBlockWords * sizeof(Word)) {
        Word next[F::kWords];
        std::memcpy(next, kept, sizeof next);
        F::block(next, at);
        for (std::size_t i = 0; i < F::kWords; ++i) {
            kept[i] += next[i];
        }
    }
    for (std::size_t i = 0; i < F::kWords; ++i) {
        column[i * kColumns] = kept[i];
    }
}

}  // namespace

std::vector<Engine> plain_engines(Function function) {
    switch (function) {
        case Function::md5:
            return {{1, run_blocks<Md5>}};
        case Function::sha1:
            return {{1, run_blocks<Sha1>}};
        case Function::sha256:
            return {{1, run_blocks<Sha2<Bits256>>}};
        case Function::sha512:
            return {{1, run_blocks<Sha2<Bits512>>}};
    }
    return {};
}

}  // namespace hash
