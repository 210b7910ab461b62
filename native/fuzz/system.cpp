// SPDX-License-Identifier: BSD-3-Clause
// Files of /proc and /sys below a root of our own, with anything in them: readings are numbers, and nothing is thrown.
// The parts of the input, which a zero byte ends, are the files' contents.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/conditions.h"
#include "runner/energy.h"

namespace {

constexpr const char* kFiles[] = {
    "proc/stat",
    "proc/loadavg",
    "proc/pressure/cpu",
    "proc/pressure/memory",
    "proc/self/cgroup",
    "sys/fs/cgroup/cpu.stat",
    "sys/fs/cgroup/job/cpu.stat",
    "sys/fs/cgroup/job/cpu.max",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/topology/core_id",
    "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count",
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
    "sys/devices/system/cpu/cpu0/cpufreq/base_frequency",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
    "sys/class/powercap/intel-rapl:0/name",
    "sys/class/powercap/intel-rapl:0/energy_uj",
    "sys/class/powercap/intel-rapl:0/max_energy_range_uj",
};

// In memory, and gone with the process.
struct Root {
    Root() : path("/dev/shm/nodewise-fuzz-" + std::to_string(getpid())) {
        for (const char* name : kFiles) {
            std::filesystem::create_directories(std::filesystem::path(path + "/" + name).parent_path());
        }
    }
    ~Root() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    Root(const Root&) = delete;
    Root& operator=(const Root&) = delete;
    std::string path;
};

void must_be_numbers(const std::map<std::string, double>& readings) {
    for (const auto& [name, value] : readings) {
        if (!std::isfinite(value)) {
            std::abort();
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Root root;
    const std::string all(reinterpret_cast<const char*>(data), size);
    std::size_t at = 0;
    for (const char* name : kFiles) {
        const std::size_t end = std::min(all.find('\0', at), all.size());
        std::ofstream(root.path + "/" + name, std::ios::trunc)
            << all.substr(std::min(at, end), end - std::min(at, end));
        at = std::min(end + 1, all.size());
    }
    const nodewise::Conditions conditions(root.path);
    const nodewise::Reading before = conditions.read(std::nullopt);
    must_be_numbers(before);
    must_be_numbers(nodewise::difference(before, conditions.read(std::vector<int>{0, 1}, {2, 3})));
    must_be_numbers({{"ready", conditions.ready()},
                     {"frequency", conditions.frequency({0, 1})},
                     {"base", conditions.base_frequency()},
                     {"load", conditions.load_average()}});
    nodewise::Energy energy(root.path);
    energy.start();
    energy.look();
    must_be_numbers(energy.stop());
    return 0;
}
