// SPDX-License-Identifier: BSD-3-Clause
// The worker's words, each ended by a zero byte, and an array as a peer hands it back.
#include <stdio.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "worker/arrays.h"
#include "worker/options.h"

namespace {

void read_words(const std::string& all) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = std::min(all.find('\0', at), all.size());
        words.push_back(all.substr(at, end - at));
        at = end + 1;
    }
    try {
        const nodewise::Options options = nodewise::parse_options(words);
        if (options.file.empty() || options.threads < 0 || options.repeat < 0) {
            std::abort();
        }
    } catch (const std::exception&) {
        return;
    }
}

void read_back(const std::string& all) {
    std::vector<double> numbers(4);
    nw_buffer buffer{};
    buffer.name = "a";
    buffer.type = NW_F64;
    buffer.count = numbers.size();
    buffer.data = numbers.data();
    FILE* file = fmemopen(const_cast<char*>(all.data()), all.size(), "rb");  // NOLINT: it is only read
    if (file == nullptr) {
        return;
    }
    try {
        nodewise::read_array(buffer, file);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): what is no array is said in words
    }
    fclose(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string all(reinterpret_cast<const char*>(data), size);
    read_words(all);
    read_back(all);
    return 0;
}
