// SPDX-License-Identifier: BSD-3-Clause
// Copies between a host's memory and a GPU's, one chunk behind the other: from memory as every program has it, from
// page-locked memory, and from that without waiting for each chunk. What arrives is brought back, untimed, and checked.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "abi/kernel.h"
#include "cuda.h"
#include "study.h"

namespace {

using Clock = std::chrono::steady_clock;
using gpucopy::Address;
using gpucopy::Driver;

struct Task {
    std::uint64_t chunk;  // bytes
    std::uint64_t count;
    bool to_host;
    std::uint64_t bytes() const { return chunk * count; }
};

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

// What lies on the host is one window that chunks go through in turn, larger than a last cache.
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
    out->items = static_cast<double>(task.count);
    out->bytes_read = static_cast<double>(task.bytes());
}

enum class How { kPageable, kPinned, kQueued };

void copy(nw_run* run, How how) {
    const Task task = task_of(run);
    const std::uint64_t window = window_of(task);
    const std::uint64_t bytes = window * task.chunk;
    auto* from = static_cast<unsigned char*>(nw_data(run, "from"));
    auto* to = static_cast<unsigned char*>(nw_data(run, "to"));
    Driver driver(run->library);
    const Address device = driver.device_memory(bytes);
    auto* host = static_cast<unsigned char*>(how == How::kPageable ? nullptr : driver.pinned(bytes));
    unsigned char* own = host != nullptr ? host : task.to_host ? to : from;
    if (host != nullptr && !task.to_host) {
        std::memcpy(host, from, bytes);
    }
    if (task.to_host) {
        driver.to_device(device, from, bytes);
    }
    driver.wait();
    const Clock::time_point begin = Clock::now();
    for (std::uint64_t i = 0; i < task.count; ++i) {
        const std::uint64_t at = i % window * task.chunk;
        if (how == How::kQueued) {
            task.to_host ? driver.begin_to_host(own + at, device + at, task.chunk)
                         : driver.begin_to_device(device + at, own + at, task.chunk);
        } else {
            task.to_host ? driver.to_host(own + at, device + at, task.chunk)
                         : driver.to_device(device + at, own + at, task.chunk);
        }
    }
    driver.wait();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (!task.to_host) {
        driver.to_host(to, device, bytes);
    } else if (host != nullptr) {
        std::memcpy(to, host, bytes);
    }
    nw_report(run, "seconds", seconds);
    nw_report(run, "driver_version", driver.version());
    if (host != nullptr) {
        driver.free_pinned(host);
    }
    driver.free_device(device);
}

template <How Way>
int run(nw_run* run) {
    try {
        copy(run, Way);
        return 0;
    } catch (const std::exception& problem) {
        return nw_fail(run, "%s", problem.what());
    }
}

// The same chunks from memory to memory, without a GPU.
int host(nw_run* run) {
    const Task task = task_of(run);
    const std::uint64_t window = window_of(task);
    const auto* from = static_cast<const unsigned char*>(nw_data(run, "from"));
    auto* to = static_cast<unsigned char*>(nw_data(run, "to"));
    for (std::uint64_t i = 0; i < task.count; ++i) {
        const std::uint64_t at = i % window * task.chunk;
        std::memcpy(to + at, from + at, task.chunk);
    }
    return 0;
}

// As long as the slot's link takes for the bytes alone.
int slot(nw_run* run) {
    try {
        const Driver driver(run->library);
        const double rate = gpucopy::slot_rate("", driver.bus());
        if (rate <= 0) {
            return nw_fail(run, "sysfs does not tell the link of %s", driver.bus().c_str());
        }
        nw_report(run, "seconds", static_cast<double>(task_of(run).bytes()) / rate);
        return 0;
    } catch (const std::exception& problem) {
        return nw_fail(run, "%s", problem.what());
    }
}

constexpr const char* kCuda = "cuda";
constexpr nw_variant kVariants[] = {
    {.name = "host", .run = host},
    {.name = "pageable", .run = run<How::kPageable>, .library = kCuda},
    {.name = "pinned", .run = run<How::kPinned>, .library = kCuda},
    {.name = "queued", .run = run<How::kQueued>, .library = kCuda},
    {.name = "pcie", .kind = NW_LIMIT, .run = slot, .library = kCuda},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "gpucopy",
    .layout = layout,
    .fill = fill,
    .reset = reset,
    .check = check,
    .work = work,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
