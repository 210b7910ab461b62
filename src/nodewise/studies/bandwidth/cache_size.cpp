// SPDX-License-Identifier: BSD-3-Clause
#include "cache_size.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace bandwidth {
namespace {

constexpr std::uint64_t kUsual = std::uint64_t{32} << 20U;
constexpr int kMostLevels = 8;

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// A size as the kernel writes it, in KiB ("32768K").
std::uint64_t size_in(const std::string& text) {
    try {
        return std::stoull(text) * 1024;
    } catch (const std::exception&) {
        return 0;
    }
}

// The size of a processor's last cache, where this processor is the first of those that share it; else 0.
std::uint64_t last_cache_first_seen(long cpu) {
    const std::string base = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index";
    std::uint64_t bytes = 0;
    int deepest = 0;
    for (int i = 0; i < kMostLevels; ++i) {
        const std::string cache = base + std::to_string(i);
        const std::string level = first_line(cache + "/level");
        const std::string shared = first_line(cache + "/shared_cpu_list");
        if (level.empty() || level[0] - '0' < deepest) {
            continue;
        }
        deepest = level[0] - '0';
        const bool first = std::stol("0" + shared.substr(0, shared.find_first_of(",-"))) == cpu;
        bytes = first ? size_in(first_line(cache + "/size")) : 0;
    }
    return bytes;
}

}  // namespace

std::uint64_t all_caches() {
    std::uint64_t bytes = 0;
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); ++cpu) {
        bytes += last_cache_first_seen(cpu);
    }
    return bytes > 0 ? bytes : kUsual;
}

std::uint64_t default_array(std::uint64_t caches, std::uint64_t times) {
    const auto memory =
        static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return std::max(std::uint64_t{1} << 20U, std::min(caches * times, memory / 8));
}

}  // namespace bandwidth
