// SPDX-License-Identifier: BSD-3-Clause
// What the contenders share: the task, the contents of messages, and the two threads of a pair.
#pragma once

#include <cstdint>
#include <string>

#include "abi/kernel.h"

namespace transport {

// What is measured; figures of one are never held against those of another.
enum class Class { kCopy, kLoan, kToken, kLatency };

struct Task {
    Class kind;
    std::uint64_t size;      // bytes of a message
    std::uint64_t messages;  // of latency, round trips
    bool spin;               // waiting never sleeps
    const std::int64_t* first;
    std::int64_t* sums;

    std::uint64_t words() const { return size / sizeof(std::uint64_t); }
};

Task task_of(const nw_run* run);

// Message `i` is first[i], first[i] + 1, …: written anew for each, and summed by who receives it.
inline void rewrite(std::uint64_t* words, std::uint64_t count, std::int64_t first) {
    for (std::uint64_t i = 0; i < count; ++i) {
        words[i] = static_cast<std::uint64_t>(first) + i;
    }
}
inline std::int64_t sum(const std::uint64_t* words, std::uint64_t count) {
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        total += words[i];
    }
    return static_cast<std::int64_t>(total);
}

int layout(nw_run* run);
int fill(nw_run* run);
int reset(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);

// Contenders.
int ours(nw_run* run);
int ring(nw_run* run);
int through_pipe(nw_run* run);
int through_unix(nw_run* run);
int through_tcp(nw_run* run);
int zeromq_ipc(nw_run* run);
int zeromq_tcp(nw_run* run);
int untransferred(nw_run* run);

}  // namespace transport
