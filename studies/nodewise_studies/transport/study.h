// SPDX-License-Identifier: BSD-3-Clause
// The task of a pair, what is in its messages, and who can be asked to hand them over.
//
// A pair is two processes, sender and receiver, that this study starts for each run (pair.cpp); each becomes the side
// of a contender (side.cpp), which its own file has.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "abi/kernel.h"

namespace transport {

using Byte = unsigned char;

// What is measured; figures of one are never held against those of another.
enum class Class { kCopy, kLoan, kToken, kOneSided, kLatency };

struct Task {
    Class kind = Class::kCopy;
    std::uint64_t size = 0;      // bytes of a message
    std::uint64_t messages = 0;  // of latency, round trips
    bool spin = true;            // waiting never sleeps
    bool backward = false;       // the second place sends to the first
    std::uint64_t most = 0;      // messages on the way, a high-water mark; 0: the contender's own
    std::uint64_t buffer = 0;  // bytes of a socket's, pipe's or ring's buffer; 0: the system's, or the contender's own
    std::uint64_t slots = 0;   // of a pool of loans; 0: the contender's own
    std::uint64_t batch = 0;   // bytes that gather before they are shown; 0: the contender's own
    std::uint64_t pause_us = 0;         // of latency, before each round trip
    std::uint64_t base = 0;             // what the first message begins with
    std::uint64_t least = 0, last = 0;  // of a ladder, its sizes, each the double of the one before; else 0
    std::uint64_t total = 0;            // bytes of all messages; 0: as was published

    // Message i is first(i), first(i) + 1, … in words of eight bytes, the last one cut off.
    std::uint64_t first(std::uint64_t i) const { return base + i * 0x9e3779b97f4a7c15U; }
    bool touched() const { return kind == Class::kCopy || kind == Class::kLoan; }
    // How many messages the receiver's window holds of one-sided transfers.
    std::uint64_t window() const;
    // Where a message of one-sided transfers lies; a signal comes first, in place 0.
    std::uint64_t place(std::uint64_t i) const { return (i + 1) % window(); }
};

// Reads the knobs, by their names; null for one that was not given.
Task read_task(const std::function<const char*(const char*)>& knob);
Task task_of(const nw_run* run);
// What a run is made of, each with a pair of its own: the sizes of a ladder, or the task itself.
std::vector<Task> rungs_of(const Task& task);

inline void rewrite(void* to, std::uint64_t size, std::uint64_t first) {
    auto* words = static_cast<std::uint64_t*>(__builtin_assume_aligned(to, sizeof(std::uint64_t)));
    const std::uint64_t count = size / sizeof(std::uint64_t);
    for (std::uint64_t i = 0; i < count; ++i) {
        words[i] = first + i;  // NOLINT(clang-analyzer-core.NullDereference): a message has memory
    }
    if (const std::uint64_t rest = size % sizeof(std::uint64_t); rest > 0) {
        const std::uint64_t last = first + count;
        std::memcpy(words + count, &last, rest);  // NOLINT(clang-analyzer-core.NonNullParamChecker): as above
    }
}

inline std::uint64_t sum(const void* from, std::uint64_t size) {
    const auto* words = static_cast<const std::uint64_t*>(__builtin_assume_aligned(from, sizeof(std::uint64_t)));
    const std::uint64_t count = size / sizeof(std::uint64_t);
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        total += words[i];
    }
    if (const std::uint64_t rest = size % sizeof(std::uint64_t); rest > 0) {
        std::uint64_t last = 0;
        std::memcpy(&last, words + count, rest);
        total += last;
    }
    return total;
}

// What `sum` has to be of a message that begins with `first`.
std::uint64_t due_sum(std::uint64_t first, std::uint64_t size);

int layout(nw_run* run);
int fill(nw_run* run);
int reset(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);

}  // namespace transport
