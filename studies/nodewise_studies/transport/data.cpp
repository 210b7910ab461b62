// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "study.h"

namespace transport {

namespace {

constexpr std::uint64_t kMost = 1'000'000, kBytes = std::uint64_t{256} << 20;

std::int64_t due(const Task& task, std::uint64_t i) {
    const auto first = static_cast<std::uint64_t>(task.first[i]);
    const std::uint64_t n = task.words();
    switch (task.kind) {
        case Class::kToken:
            return static_cast<std::int64_t>(task.size);
        case Class::kLatency:
            return static_cast<std::int64_t>(first + 1);
        default:
            return static_cast<std::int64_t>(n * first + n * (n - 1) / 2);
    }
}

}  // namespace

Task task_of(const nw_run* run) {
    const char* given = nw_text(run, "class");
    const std::string kind = given == nullptr ? "copy" : given;
    const char* wait = nw_text(run, "wait");
    Task task{.kind = kind == "loan"      ? Class::kLoan
                      : kind == "token"   ? Class::kToken
                      : kind == "latency" ? Class::kLatency
                                          : Class::kCopy,
              .size = static_cast<std::uint64_t>(nw_number(run, "size", 4096)) & ~std::uint64_t{7},
              .messages = static_cast<std::uint64_t>(nw_number(run, "messages", 0)),
              .spin = wait == nullptr || std::strcmp(wait, "block") != 0,
              .first = static_cast<const std::int64_t*>(nw_data(run, "first")),
              .sums = static_cast<std::int64_t*>(nw_data(run, "sums"))};
    if (task.kind == Class::kLatency) {
        task.size = 8;
    }
    if (task.messages == 0) {
        task.messages = task.kind == Class::kLatency ? 10'000
                        : task.kind == Class::kToken ? kMost
                                                     : std::clamp<std::uint64_t>(kBytes / task.size, 1, kMost);
    }
    return task;
}

int layout(nw_run* run) {
    const Task task = task_of(run);
    if (static_cast<std::uint64_t>(nw_number(run, "size", 4096)) % 8 != 0) {
        return nw_fail(run, "size is no multiple of 8\nhint: give size=64, 4096 or 1048576, say");
    }
    nw_declare(run, "first", NW_I64, NW_INPUT, task.messages);
    nw_declare(run, "sums", NW_I64, NW_OUTPUT, task.messages);
    return 0;
}

int fill(nw_run* run) {
    auto* first = static_cast<std::int64_t*>(nw_data(run, "first"));
    const auto messages = static_cast<std::int64_t>(task_of(run).messages);
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t i = 0; i < messages; ++i) {
        first[i] = static_cast<std::int64_t>(nw_random(run->seed, static_cast<std::uint64_t>(i)));
    }
    return 0;
}

int reset(nw_run* run) {
    const Task task = task_of(run);
    std::fill_n(task.sums, task.messages, 0);
    return 0;
}

int check(nw_run* run) {
    const Task task = task_of(run);
    for (std::uint64_t i = 0; i < task.messages; ++i) {
        if (task.sums[i] != due(task, i)) {
            return nw_fail(run, "message %llu is not the one that was sent: %lld, not %lld",
                           static_cast<unsigned long long>(i), static_cast<long long>(task.sums[i]),
                           static_cast<long long>(due(task, i)));
        }
    }
    return 0;
}

void work(const nw_run* run, nw_work* out) {
    const Task task = task_of(run);
    out->items = static_cast<double>(task.messages);
    if (task.kind == Class::kLatency) {
        out->items *= 2;  // half round trips
    }
    if (task.kind == Class::kCopy || task.kind == Class::kLoan) {
        // what the sender writes and the receiver sums, without the copies between
        out->bytes_read = out->bytes_written = static_cast<double>(task.messages * task.size);
    }
}

}  // namespace transport
