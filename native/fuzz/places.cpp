// SPDX-License-Identifier: BSD-3-Clause
// What users write for the library that binds threads, up to a zero byte, and what stands in /proc/self/maps behind it.
#include "pin/places.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "pin/maps.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string all(reinterpret_cast<const char*>(data), size);
    const std::string list = all.c_str();
    nodewise::Place* places = nullptr;
    nodewise::Place everything{};
    long count = 0;
    const bool good = nodewise::read_places(list.c_str(), places, count, everything);
    if (good && (count < 1 || everything.bytes == 0)) {
        std::abort();
    }
    for (long i = 0; good && i < count; ++i) {
        const nodewise::Place& place = places[i];
        const char* end = place.text + place.length;
        if (place.bytes == 0 || place.bytes > nodewise::kMaskBytes || place.text < list.c_str() ||
            end > list.c_str() + list.size()) {
            std::abort();
        }
    }
    std::free(places);
    for (const long number : {1L, 7L, 64L, 65L}) {
        nodewise::is_among(list.c_str(), number);
    }
    nodewise::MapsReader reader(0x7f0000001234);
    for (const char c : all) {
        if (reader.take(c) && std::strlen(reader.name()) > 23) {
            std::abort();
        }
    }
    return 0;
}
