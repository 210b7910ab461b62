// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "study.h"

namespace transport {
namespace {

// As published: so much in chunks up to 4 KiB, and above.
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kSmall = 4096, kSmallTotal = 128 * kMiB,
                        kLargeTotal = 1024 * kMiB;
constexpr std::uint64_t kLadderLeast = 64, kLadderMost = 128 * kMiB;
constexpr std::uint64_t kTokens = 2'000'000, kRoundTrips = 10'000, kMost = std::uint64_t{1} << 28;

std::uint64_t due(const Task& task, const std::int64_t* first, std::uint64_t i) {
    switch (task.kind) {
        case Class::kToken:
            return task.size;
        case Class::kLatency:
            return static_cast<std::uint64_t>(first[i]) + 1;
        case Class::kOneSided:
            return due_sum(task.first(task.place(i)), task.size);
        default:
            return due_sum(static_cast<std::uint64_t>(first[i]), task.size);
    }
}

std::uint64_t usual_messages(const Task& task) {
    if (task.kind == Class::kLatency) {
        return kRoundTrips;
    }
    if (task.kind == Class::kToken) {
        return kTokens;
    }
    const bool large = task.size > kSmall || task.least == kSmall;  // 4 KiB is in both ladders
    const std::uint64_t usual = large ? kLargeTotal : kSmallTotal;
    return std::clamp<std::uint64_t>((task.total > 0 ? task.total : usual) / task.size, 1, kMost);
}

std::uint64_t all_messages(const Task& task) {
    std::uint64_t messages = 0;
    for (const Task& rung : rungs_of(task)) {
        messages += rung.messages;
    }
    return messages;
}

}  // namespace

std::uint64_t due_sum(std::uint64_t first, std::uint64_t size) {
    const std::uint64_t n = size / sizeof(std::uint64_t);
    const std::uint64_t rest = size % sizeof(std::uint64_t);
    const std::uint64_t mask = (std::uint64_t{1} << (8 * rest)) - 1;
    // n (n - 1) / 2 of numbers that overflow: the even one is halved
    const std::uint64_t pairs = n == 0 ? 0 : n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
    return n * first + pairs + ((first + n) & mask);
}

std::uint64_t Task::window() const { return std::clamp<std::uint64_t>(4 * kMiB / size, 2, 8192); }

Task read_task(const std::function<const char*(const char*)>& knob) {
    const auto text = [&](const char* name) {
        const char* given = knob(name);
        return std::string(given == nullptr ? "" : given);
    };
    const auto number = [&](const char* name) { return std::strtoull(text(name).c_str(), nullptr, 10); };
    Task task;
    const std::string kind = text("class");
    task.kind = kind == "loan"        ? Class::kLoan
                : kind == "token"     ? Class::kToken
                : kind == "one-sided" ? Class::kOneSided
                : kind == "latency"   ? Class::kLatency
                                      : Class::kCopy;
    task.size = number("size");
    if (task.size == 0) {
        task.size = task.kind == Class::kLatency ? sizeof(std::uint64_t) : kSmall;
    }
    task.spin = text("wait") != "block";
    task.backward = text("direction") == "backward";
    task.most = number("most");
    task.buffer = number("buffer");
    task.slots = number("slots");
    task.batch = number("batch");
    task.pause_us = number("pause");
    task.base = number("base");
    task.total = number("total");
    if (const std::string ladder = text("ladder"); !ladder.empty()) {
        task.least = task.size = ladder == "small" ? kLadderLeast : kSmall;
        task.last = ladder == "small" ? kSmall : kLadderMost;
    }
    task.messages = number("messages");
    if (task.messages == 0) {
        task.messages = usual_messages(task);
    }
    return task;
}

std::vector<Task> rungs_of(const Task& task) {
    std::vector<Task> rungs;
    Task rung = task;
    for (std::uint64_t size = task.least; size > 0 && size <= task.last; size *= 2) {
        rung.size = size;
        rung.messages = usual_messages(rung);
        rungs.push_back(rung);
        rung.base = rung.first(rung.messages);
    }
    return rungs.empty() ? std::vector<Task>{task} : rungs;
}

Task task_of(const nw_run* run) {
    Task task = read_task([run](const char* name) { return nw_text(run, name); });
    task.base = nw_mix(run->seed);
    return task;
}

int layout(nw_run* run) {
    const Task task = task_of(run);
    if (task.kind == Class::kLatency && task.size < sizeof(std::uint64_t)) {
        return nw_fail(run, "a round trip takes a number of 8 bytes, and size is %llu\nhint: give size=8 or more",
                       static_cast<unsigned long long>(task.size));
    }
    if (task.kind != Class::kLatency && task.pause_us > 0) {
        return nw_fail(run, "a pause is of round trips alone\nhint: give class=latency, or leave pause out");
    }
    if (task.least > 0 && (task.kind == Class::kLatency || task.kind == Class::kToken)) {
        return nw_fail(run,
                       "a ladder is of bytes a second, which class=latency and token have none of\nhint: leave it out");
    }
    const std::uint64_t messages = all_messages(task);
    nw_declare(run, "first", NW_I64, NW_INPUT, messages);
    nw_declare(run, "sums", NW_I64, NW_OUTPUT, messages);
    return 0;
}

int fill(nw_run* run) {
    auto* first = static_cast<std::int64_t*>(nw_data(run, "first"));
    const Task task = task_of(run);
    const auto messages = static_cast<std::int64_t>(all_messages(task));
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t i = 0; i < messages; ++i) {
        first[i] = static_cast<std::int64_t>(task.first(static_cast<std::uint64_t>(i)));
    }
    return 0;
}

int reset(nw_run* run) {
    std::fill_n(static_cast<std::int64_t*>(nw_data(run, "sums")), all_messages(task_of(run)), 0);
    return 0;
}

int check(nw_run* run) {
    const auto* first = static_cast<const std::int64_t*>(nw_data(run, "first"));
    const auto* sums = static_cast<const std::int64_t*>(nw_data(run, "sums"));
    for (const Task& task : rungs_of(task_of(run))) {
        for (std::uint64_t i = 0; i < task.messages; ++i) {
            const auto wanted = static_cast<std::int64_t>(due(task, first, i));
            if (sums[i] != wanted) {
                return nw_fail(run, "message %llu is not the one that was sent: its sum is %lld, not %lld",
                               static_cast<unsigned long long>(i), static_cast<long long>(sums[i]),
                               static_cast<long long>(wanted));
            }
        }
        first += task.messages;
        sums += task.messages;
    }
    return 0;
}

void work(const nw_run* run, nw_work* out) {
    for (const Task& task : rungs_of(task_of(run))) {
        const auto messages = static_cast<double>(task.messages);
        if (task.kind == Class::kLatency) {
            out->items += 2 * messages;  // half round trips
            continue;
        }
        out->items += messages;
        if (task.kind != Class::kToken) {
            // what arrives, counted once, without the copies between: `bytes` over the time is the published rate
            out->bytes_read += messages * static_cast<double>(task.size);
        }
    }
}

}  // namespace transport
