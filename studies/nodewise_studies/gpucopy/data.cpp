// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "study.h"

namespace gpucopy {

Task task_of(const nw_run* run) {
    constexpr std::uint64_t kSmall = 4096, kSmallTotal = 128ULL << 20, kLargeTotal = 1ULL << 30, kMost = 1ULL << 20;
    const auto chunk = static_cast<std::uint64_t>(nw_number(run, "size", 1 << 20));
    const auto asked = static_cast<std::uint64_t>(nw_number(run, "total", 0));
    const std::uint64_t total = asked > 0 ? asked : chunk <= kSmall ? kSmallTotal : kLargeTotal;
    const char* way = nw_text(run, "direction");
    // a copy costs microseconds whatever its size: a million of them is enough
    return {chunk, std::clamp<std::uint64_t>(total / chunk, 1, kMost),
            way != nullptr && std::strcmp(way, "to-host") == 0};
}

std::uint64_t window_of(const Task& task) {
    constexpr std::uint64_t kWindow = 256ULL << 20;
    return std::min(task.count, std::max<std::uint64_t>(1, kWindow / task.chunk));
}

int layout(nw_run* run) {
    const Task task = task_of(run);
    nw_declare(run, "from", NW_U8, NW_INPUT, window_of(task) * task.chunk);
    nw_declare(run, "to", NW_U8, NW_OUTPUT, window_of(task) * task.chunk);
    return 0;
}

int fill(nw_run* run) {
    const Task task = task_of(run);
    auto* from = static_cast<unsigned char*>(nw_data(run, "from"));
    const auto bytes = static_cast<std::int64_t>(window_of(task) * task.chunk);
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t i = 0; i < bytes; ++i) {
        from[i] = static_cast<unsigned char>(nw_random(run->seed, static_cast<std::uint64_t>(i)));
    }
    return 0;
}

int reset(nw_run* run) {
    const Task task = task_of(run);
    std::memset(nw_data(run, "to"), 0, window_of(task) * task.chunk);
    return 0;
}

int check(nw_run* run) {
    const Task task = task_of(run);
    const auto* from = static_cast<const unsigned char*>(nw_data(run, "from"));
    const auto* to = static_cast<const unsigned char*>(nw_data(run, "to"));
    for (std::uint64_t i = 0; i < window_of(task) * task.chunk; ++i) {
        if (to[i] != from[i]) {
            return nw_fail(run, "byte %llu came as %d, not %d", static_cast<unsigned long long>(i), to[i], from[i]);
        }
    }
    return 0;
}

void work(const nw_run* run, nw_work* out) {
    const Task task = task_of(run);
    out->items = static_cast<double>(task.bytes());
    out->bytes_read = static_cast<double>(task.bytes());
}

}  // namespace gpucopy
