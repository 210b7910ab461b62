// SPDX-License-Identifier: BSD-3-Clause
// The worker's command line.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nodewise {

enum class Storage { plain, huge, fast };

struct Options {
    std::string file;
    std::string variant;
    bool list = false;
    bool pages = false;
    bool work = false;
    bool serve = false;
    int threads = 0;
    int repeat = 1;
    std::uint64_t seed = 0;
    Storage storage = Storage::huge;
    std::string simd;
    std::string library;
    std::string dump;
    std::string outputs;
    std::string corrupt;
    std::string mpi;
    int ranks = 1;
    std::vector<std::pair<std::string, std::string>> knobs;
};

// Throws std::invalid_argument that says what is wrong.
Options parse_options(const std::vector<std::string>& words);

// A whole number of at least `least`; throws std::invalid_argument with the option's name.
long parse_number(const std::string& option, const std::string& text, long least);

}  // namespace nodewise
