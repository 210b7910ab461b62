// SPDX-License-Identifier: BSD-3-Clause
#include "runner/counters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

namespace nodewise {
namespace {

int perf_open(perf_event_attr* attributes) {
    return static_cast<int>(syscall(SYS_perf_event_open, attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::uint64_t read_counter(int descriptor) {
    std::uint64_t value = 0;
    return read(descriptor, &value, sizeof value) == sizeof value ? value : 0;
}

std::string why_missing(int problem) {
    if (problem == EACCES || problem == EPERM) {
        std::string level = "?";
        std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level;
        return "not permitted (kernel.perf_event_paranoid is " + level + ")";
    }
    if (problem == ENOSYS) {
        return "the kernel has no perf events, or a container hides them";
    }
    return "the processor or hypervisor shows none";
}

}  // namespace

Counters::Counters() {
    open_counter("migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, false);
    if (!open_counter("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true)) {
        open_aperf();
    }
    open_counter("instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true);
    open_counter("cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, true);
    open_counter("branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, true);
}

Counters::~Counters() {
    for (const Counter& counter : counters_) {
        close(counter.descriptor);
    }
}

bool Counters::open_counter(const std::string& name, std::uint32_t type, std::uint64_t config, bool hardware) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = type;
    attributes.config = config;
    attributes.disabled = 1;
    attributes.inherit = 1;
    attributes.enable_on_exec = 1;
    int descriptor = perf_open(&attributes);
    if (descriptor < 0 && hardware && (errno == EACCES || errno == EPERM)) {
        // what an ordinary user may count; a software counter would stay at zero so
        attributes.exclude_kernel = 1;
        attributes.exclude_hv = 1;
        descriptor = perf_open(&attributes);
        user_only_ |= descriptor >= 0;
    }
    if (descriptor >= 0) {
        counters_.push_back({name, descriptor, 0});
        return true;
    }
    if (hardware && hardware_missing_.empty()) {
        hardware_missing_ = why_missing(errno);
    }
    return false;
}

// Some hypervisors show the register of actual cycles and no other counter; it has a device of its own.
void Counters::open_aperf() {
    const std::string folder = "/sys/bus/event_source/devices/msr/";
    std::uint32_t type = 0;
    std::string event;
    if (std::ifstream(folder + "type") >> type && std::ifstream(folder + "events/aperf") >> event &&
        event.compare(0, 6, "event=") == 0) {
        open_counter("aperf", type, std::strtoull(event.c_str() + 6, nullptr, 16), false);
    }
}

void Counters::start() {
    for (Counter& counter : counters_) {
        counter.begin = read_counter(counter.descriptor);
    }
}

std::map<std::string, double> Counters::stop() const {
    std::map<std::string, double> rose;
    for (const Counter& counter : counters_) {
        rose[counter.name] = static_cast<double>(read_counter(counter.descriptor) - counter.begin);
    }
    return rose;
}

}  // namespace nodewise
