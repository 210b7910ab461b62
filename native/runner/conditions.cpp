// SPDX-License-Identifier: BSD-3-Clause
#include "runner/conditions.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace nodewise {
namespace {

std::string first_line(const std::string& path) {
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line;
}

// Fields of the first line of /proc/stat, proc_stat(5), in clock ticks.
void read_processor_time(const std::string& text, Reading& into) {
    std::istringstream line(text.substr(0, text.find('\n')));
    std::string name;
    std::array<double, 8> ticks{};
    line >> name;
    for (double& t : ticks) {
        if (!(line >> t)) {
            return;
        }
    }
    const auto [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    (void)idle;
    (void)iowait;
    const double hertz = static_cast<double>(sysconf(_SC_CLK_TCK));
    into["steal_s"] = steal / hertz;
    into["busy_s"] = (user + nice + system + irq + softirq) / hertz;
}

// The first line of a pressure file ("some"): how long at least one process waited.
void read_pressure(const std::string& text, const std::string& name, Reading& into) {
    const std::size_t at = text.find("total=");
    if (at != std::string::npos && at < text.find('\n')) {
        into[name] = std::strtod(text.c_str() + at + 6, nullptr) * 1e-6;
    }
}

void read_throttled(const std::string& text, Reading& into) {
    std::istringstream file(text);
    std::string name;
    double value = 0;
    while (file >> name >> value) {
        if (name == "throttled_usec") {
            into["throttled_s"] = value * 1e-6;
        } else if (name == "throttled_time") {
            into["throttled_s"] = value * 1e-9;
        }
    }
}

// The cpu.stat of this process's own control group, version 2 or 1; empty where there is none.
std::string find_throttle_file(const std::string& root) {
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) {
            continue;
        }
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const std::string group = line.substr(second + 1);
        const bool unified = controllers == ",,";
        if (!unified && controllers.find(",cpu,") == std::string::npos) {
            continue;
        }
        for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
            std::string path = root;
            path.append(mount).append(group).append("/cpu.stat");
            if (access(path.c_str(), R_OK) == 0) {
                return path;
            }
        }
    }
    return "";
}

}  // namespace

KernelFile::KernelFile(const std::string& path)
    : descriptor_(path.empty() ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

KernelFile::KernelFile(KernelFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

KernelFile::~KernelFile() {
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

std::string KernelFile::read() const {
    std::array<char, 4096> buffer{};
    const ssize_t count = descriptor_ < 0 ? 0 : pread(descriptor_, buffer.data(), buffer.size(), 0);
    return {buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

Conditions::Conditions(std::string root)
    : root_(std::move(root)),
      stat_(root_ + "/proc/stat"),
      load_(root_ + "/proc/loadavg"),
      throttle_(find_throttle_file(root_)) {
    for (const char* what : {"cpu", "memory", "io"}) {
        pressure_.emplace_back(std::string("pressure_") + what + "_s", KernelFile(root_ + "/proc/pressure/" + what));
    }
}

Reading Conditions::read() const {
    Reading reading;
    read_processor_time(stat_.read(), reading);
    for (const auto& [name, file] : pressure_) {
        read_pressure(file.read(), name, reading);
    }
    read_throttled(throttle_.read(), reading);
    return reading;
}

double Conditions::frequency(const std::vector<int>& processors) const {
    double sum = 0;
    int count = 0;
    for (const int p : processors) {
        const std::string text =
            first_line(root_ + "/sys/devices/system/cpu/cpu" + std::to_string(p) + "/cpufreq/scaling_cur_freq");
        if (!text.empty()) {
            sum += std::stod(text) * 1e3;
            ++count;
        }
    }
    return count > 0 ? sum / count : 0;
}

double Conditions::load_average() const { return std::strtod(load_.read().c_str(), nullptr); }

Reading difference(const Reading& before, const Reading& after) {
    Reading rose;
    for (const auto& [name, value] : after) {
        const auto found = before.find(name);
        if (found != before.end()) {
            rose[name] = value - found->second;
        }
    }
    return rose;
}

}  // namespace nodewise
