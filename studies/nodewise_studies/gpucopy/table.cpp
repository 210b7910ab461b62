// SPDX-License-Identifier: BSD-3-Clause
// Copies between a host's memory and a GPU's, one chunk behind the other: from memory as every program has it, from
// page-locked memory, and from that without waiting for each chunk. What arrives is brought back, untimed, and checked.
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "abi/kernel.h"
#include "cuda.h"
#include "pcie.h"
#include "study.h"

namespace {

using Clock = std::chrono::steady_clock;
using gpucopy::Address;
using gpucopy::Driver;
using gpucopy::Task;
using gpucopy::task_of;
using gpucopy::window_of;

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
        const Driver driver(run->library, gpucopy::Use::kAsk);
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
    .layout = gpucopy::layout,
    .fill = gpucopy::fill,
    .reset = gpucopy::reset,
    .check = gpucopy::check,
    .work = gpucopy::work,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
