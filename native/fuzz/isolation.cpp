// SPDX-License-Identifier: BSD-3-Clause
// What nodewise-isolate is told: whatever it reads is a specification, or an exception.
#include <cstdint>
#include <exception>

#include "isolation/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        nodewise::parse_spec(std::string(reinterpret_cast<const char*>(data), size));
    } catch (const std::exception&) {
        return 0;
    }
    return 0;
}
