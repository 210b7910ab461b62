// SPDX-License-Identifier: BSD-3-Clause
// Packing into LZ4's block format: literals, then a match of 4 bytes or more among the 65535 bytes before, and so on.
// `Bytes` says how stretches of bytes are compared and copied; each file that includes this has one of its own,
// compiled for its own instruction set: nothing of the C++ library is used, which all would share.
#pragma once

#include <cstdint>
#include <cstring>

#include "own.h"

namespace store {
namespace {

constexpr std::size_t kLeastMatch = 4;
constexpr std::size_t kFarthest = 65535;
// the format's end: the last bytes are literals, and no match begins closer to it
constexpr std::size_t kLastLiterals = 5;
constexpr std::size_t kNoMatchWithin = 12;
constexpr std::size_t kNibble = 15;
// the longer nothing is found, the larger the steps
constexpr std::size_t kPatience = 6;

inline std::uint32_t word_at(const char* at) {
    std::uint32_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
}

inline std::size_t hash_of(std::uint32_t word) { return (word * 2654435761U) >> (32 - kHashBits); }

// What does not fit into four bits goes into bytes behind.
inline char* put_rest(char* to, std::size_t rest) {
    for (; rest >= 255; rest -= 255) {
        *to++ = static_cast<char>(255);
    }
    *to++ = static_cast<char>(rest);
    return to;
}

inline std::size_t nibble_of(std::size_t count) { return count < kNibble ? count : kNibble; }

template <class Bytes>
char* put_literals(char* to, const char* from, std::size_t count, std::size_t match) {
    const std::size_t nibble = match == 0 ? 0 : nibble_of(match - kLeastMatch);
    *to++ = static_cast<char>(nibble_of(count) << 4U | nibble);
    if (count >= kNibble) {
        to = put_rest(to, count - kNibble);
    }
    Bytes::copy(to, from, count);
    return to + count;
}

template <class Bytes>
std::size_t pack(const char* from, std::size_t size, char* to, std::uint32_t* last) {
    char* const begin = to;
    std::size_t literals = 0;  // where those begin that are not written yet
    if (size > kNoMatchWithin) {
        const std::size_t end = size - kNoMatchWithin;
        for (std::size_t at = 0; at < end;) {
            const std::uint32_t word = word_at(from + at);
            std::uint32_t& slot = last[hash_of(word)];  // a place plus one
            const std::size_t before = slot;
            slot = static_cast<std::uint32_t>(at + 1);
            if (before == 0 || at + 1 - before > kFarthest || word_at(from + before - 1) != word) {
                at += 1 + ((at - literals) >> kPatience);
                continue;
            }
            const char* earlier = from + before - 1;
            const std::size_t distance = at + 1 - before;
            const std::size_t length = kLeastMatch + Bytes::equal(earlier + kLeastMatch, from + at + kLeastMatch,
                                                                  size - kLastLiterals - at - kLeastMatch);
            to = put_literals<Bytes>(to, from + literals, at - literals, length);
            *to++ = static_cast<char>(distance & 0xffU);
            *to++ = static_cast<char>(distance >> 8U);
            if (length - kLeastMatch >= kNibble) {
                to = put_rest(to, length - kLeastMatch - kNibble);
            }
            at += length;
            literals = at;
            if (at < end) {
                last[hash_of(word_at(from + at - 2))] = static_cast<std::uint32_t>(at - 1);
            }
        }
    }
    to = put_literals<Bytes>(to, from + literals, size - literals, 0);
    return static_cast<std::size_t>(to - begin);
}

}  // namespace
}  // namespace store
