// SPDX-License-Identifier: BSD-3-Clause
// What hashes blocks: engines, each for so many buffers at once, and how they are combined to hash any buffers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hash {

enum class Function { md5, sha1, sha256, sha512 };
constexpr std::size_t kFunctions = 4;

// All that the functions differ in but their rounds. Words of the state are 4 or 8 bytes.
struct Shape {
    const char* name;
    std::size_t block;
    std::size_t word;
    std::size_t words;   // of the state
    std::size_t digest;  // bytes
    bool big_endian;
};

const Shape& shape(Function function);
constexpr std::size_t kLongestDigest = 64;
constexpr std::size_t kLongestBlock = 128;

// Buffers in work at once, at most; and the columns of their states: an engine may need some beyond the last buffer.
constexpr std::size_t kSlots = 32;
constexpr std::size_t kColumns = 2 * kSlots;

// Advances `lanes` buffers by `blocks` blocks each. Word w of lane i's state is at index w * kColumns + i, in words of
// the function's size; data[i] is where lane i's next block begins.
struct Engine {
    std::size_t lanes;
    void (*run)(void* state, const std::uint8_t* const* data, std::size_t blocks);
};

// Those for a function: one buffer after the other, in portable C++; the processor's own SHA instructions, empty where
// there are none; SIMD lanes, of the instruction set that Highway chooses.
std::vector<Engine> plain_engines(Function function);
std::vector<Engine> instruction_engines(Function function);
std::vector<Engine> lane_engines(Function function);
std::vector<Engine> all_engines(Function function);

// How a number of buffers is shared out among engines: first[n] is used first where n buffers are left to advance.
struct Plan {
    Function function;
    std::array<Engine, kSlots + 1> first;
    std::size_t slots;  // how many buffers are best in work at once
};

// The plan that takes the least time, found by timing each engine for some microseconds.
Plan make_plan(Function function, const std::vector<Engine>& engines);

struct Job {
    const std::uint8_t* data;
    std::uint64_t size;
    std::uint8_t* digest;
};

// Hashes all, in any order: a buffer that ends makes room for the next.
void hash_jobs(const Plan& plan, const Job* jobs, std::size_t count);

}  // namespace hash
