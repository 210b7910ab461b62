// SPDX-License-Identifier: BSD-3-Clause
// The lists that users write: places such as {0},{1},{2-3}, and which of the threads are left alone. Needs libc alone.
#pragma once

#include <cstddef>

namespace nodewise {

constexpr int kMostProcessors = 8192;  // as many as Linux can be built for
constexpr std::size_t kMaskBytes = kMostProcessors / 8;
constexpr long kMostPlaces = 1 << 16;

struct Place {
    unsigned char mask[kMaskBytes];
    std::size_t bytes;  // how much of the mask is used
    const char* text;   // where it stands in the list
    int length;
};

// Reads a list into `places`, which it allocates and is kept for good, and all of its processors into `everything`.
// False where it is none, or too long.
bool read_places(const char* text, Place*& places, long& count, Place& everything);

// Whether a number from 1 on is in a list such as 1,3 or a mask such as 0x5.
bool is_among(const char* list, long number);

}  // namespace nodewise
