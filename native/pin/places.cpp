// SPDX-License-Identifier: BSD-3-Clause
#include "pin/places.h"

#include <algorithm>
#include <cstdlib>

namespace nodewise {
namespace {

void add(Place& place, long processor) {
    const auto byte = static_cast<std::size_t>(processor) / 8;
    if (byte >= kMaskBytes) {
        return;
    }
    place.mask[byte] = static_cast<unsigned char>(place.mask[byte] | 1U << (processor % 8));
    // the kernel takes whole words
    const std::size_t needed = (byte / sizeof(long) + 1) * sizeof(long);
    place.bytes = needed > place.bytes ? needed : place.bytes;
}

// Reads a number or a range at `text` into the place; null where there is none.
const char* read_range(const char* text, Place& place) {
    char* end = nullptr;
    if (*text < '0' || *text > '9') {
        return nullptr;
    }
    const long first = std::strtol(text, &end, 10);
    long last = first;
    if (*end == '-') {
        const char* second = end + 1;
        if (*second < '0' || *second > '9') {
            return nullptr;
        }
        last = std::strtol(second, &end, 10);
    }
    if (first < 0 || last < first || last >= kMostProcessors) {
        return nullptr;
    }
    for (long p = first; p <= last; ++p) {
        add(place, p);
    }
    return end;
}

// Reads one entry, in braces or a number by itself; null where there is none.
const char* read_entry(const char* text, Place& place) {
    const char* at = text;
    if (*at == '{') {
        do {
            at = read_range(at + 1, place);
        } while (at != nullptr && *at == ',');
        at = at != nullptr && *at == '}' ? at + 1 : nullptr;
    } else {
        at = read_range(at, place);
    }
    place.text = text;
    place.length = at == nullptr ? 0 : static_cast<int>(at - text);
    return at;
}

}  // namespace

bool read_places(const char* text, Place*& places, long& count, Place& everything) {
    long most = 1;
    for (const char* at = text; *at != '\0'; ++at) {
        most += *at == ',' ? 1 : 0;
    }
    if (most > kMostPlaces) {
        return false;
    }
    places = static_cast<Place*>(std::calloc(static_cast<std::size_t>(most), sizeof(Place)));
    if (places == nullptr) {
        return false;
    }
    for (const char* at = text; count < most; ++at) {
        at = read_entry(at, places[count]);
        if (at == nullptr || (*at != ',' && *at != '\0')) {
            return false;
        }
        for (std::size_t byte = 0; byte < kMaskBytes; ++byte) {
            everything.mask[byte] = static_cast<unsigned char>(everything.mask[byte] | places[count].mask[byte]);
        }
        everything.bytes = std::max(everything.bytes, places[count].bytes);
        ++count;
        if (*at == '\0') {
            return true;
        }
    }
    return false;
}

bool is_among(const char* list, long number) {
    if (list[0] == '0' && (list[1] == 'x' || list[1] == 'X')) {
        return number <= 64 && (std::strtoull(list, nullptr, 16) >> (number - 1) & 1U) != 0;
    }
    for (const char* at = list; *at != '\0';) {
        char* end = nullptr;
        if (std::strtol(at, &end, 10) == number && end != at) {
            return true;
        }
        at = *end == '\0' ? end : end + 1;
    }
    return false;
}

}  // namespace nodewise
