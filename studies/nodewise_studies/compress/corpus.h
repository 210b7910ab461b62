// SPDX-License-Identifier: BSD-3-Clause
// What is compressed: a user's files, or generated ones, in blocks, in windows that fit in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace compress {

// A generated file has its kind for a path.
struct File {
    std::string path;
    std::uint64_t size = 0;
    std::int64_t changed_ns = 0;
    bool generated = false;
};

// A part of a file that is compressed by itself; `at` is where it lies in the window.
struct Block {
    std::size_t file;
    std::uint64_t offset;
    std::uint64_t size;
    std::uint64_t at;
};

using Window = std::vector<Block>;

struct Corpus {
    std::vector<File> files;
    std::vector<Window> windows;
    std::uint64_t bytes = 0;
    std::uint64_t largest_window = 0;
    std::uint64_t largest_block = 0;
    std::uint64_t unreadable = 0;  // files of folders that were left out
};

// The files named (separated by commas), those below the folders named, once each. Links below are not followed. Throws
// std::runtime_error for a named file or folder that cannot be read, and where nothing is left.
Corpus find_files(std::string_view files, std::string_view folders);

// Five kinds of files, or one, of so many bytes together.
Corpus generated_files(std::string_view kind, std::uint64_t bytes);

// Cuts the files into blocks and windows.
void cut(Corpus& corpus, std::uint64_t block, std::uint64_t window);

// Reads or generates a window. Throws std::runtime_error where a file cannot be read or is no longer what it was.
void load(const Corpus& corpus, const Window& window, std::uint64_t seed, int threads, std::uint8_t* into);

// A part of a generated file: the same bytes, whatever parts they are generated in.
void generate(std::string_view kind, std::uint64_t seed, std::uint64_t offset, std::uint64_t size, std::uint8_t* into);

}  // namespace compress
