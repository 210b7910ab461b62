// SPDX-License-Identifier: BSD-3-Clause
#include "runner/conditions.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <set>

namespace nodewise {
namespace {

std::string first_line(const std::string& path) {
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line;
}

// A number as the kernel writes them, which are never near as large; nothing for what is none.
std::optional<double> number_at(const char* text) {
    constexpr double kLargest = 1e30;
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    return end != text && std::fabs(value) < kLargest ? std::optional(value) : std::nullopt;
}

struct ProcessorTime {
    double busy = 0;
    double steal = 0;
};

// The fields after the name of a line of /proc/stat, proc_stat(5), in clock ticks; moves `at` behind them.
bool read_line(const char*& at, ProcessorTime& into) {
    std::array<double, 8> ticks{};
    for (double& t : ticks) {
        char* end = nullptr;
        t = static_cast<double>(std::strtoull(at, &end, 10));
        if (end == at) {
            return false;
        }
        at = end;
    }
    const auto [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    (void)idle;
    (void)iowait;
    into.busy += user + nice + system + irq + softirq;
    into.steal += steal;
    return true;
}

// Which numbers are in the list, by number.
std::vector<bool> flags(const std::vector<int>& list) {
    std::vector<bool> set;
    for (const int p : list) {
        const auto at = static_cast<std::size_t>(p);
        set.resize(std::max(set.size(), at + 1));
        set[at] = true;
    }
    return set;
}

bool holds(const std::vector<bool>& set, std::size_t at) { return at < set.size() && set[at]; }

void read_processor_time(const std::string& text, const std::vector<int>& mask, const std::vector<int>& domain,
                         Reading& into) {
    const double hertz = static_cast<double>(sysconf(_SC_CLK_TCK));
    ProcessorTime all;
    const bool begins = text.compare(0, 4, "cpu ") == 0;
    const char* at = text.c_str() + (begins ? 4 : 0);
    if (!begins || !read_line(at, all)) {
        return;
    }
    into["steal_s"] = all.steal / hertz;
    into["busy_s"] = all.busy / hertz;
    const std::vector<bool> wanted = flags(mask);
    const std::vector<bool> in_domain = flags(domain);
    ProcessorTime held;
    ProcessorTime near;
    std::ptrdiff_t found = 0;
    for (at = std::strchr(at, '\n'); at != nullptr && std::strncmp(at, "\ncpu", 4) == 0; at = std::strchr(at, '\n')) {
        char* end = nullptr;
        const std::size_t processor = std::strtoul(at + 4, &end, 10);
        at = end;
        const bool own = holds(wanted, processor);
        if (own || holds(in_domain, processor)) {
            if (!read_line(at, own ? held : near)) {
                return;
            }
            found += own ? 1 : 0;
        }
    }
    // where some are not shown nothing is said of the rest
    if (found > 0 && found == std::count(wanted.begin(), wanted.end(), true)) {
        into["mask_steal_s"] = held.steal / hertz;
        into["mask_busy_s"] = held.busy / hertz;
        if (!domain.empty()) {
            into["domain_busy_s"] = (held.busy + near.busy) / hertz;
        }
    }
}

// The first line of a pressure file ("some"): how long at least one process waited.
void read_pressure(const std::string& text, const std::string& name, Reading& into) {
    const std::size_t at = text.find("total=");
    if (at != std::string::npos && at < text.find('\n')) {
        into[name] = number_at(text.c_str() + at + 6).value_or(0) * 1e-6;
    }
}

// What a cpu.stat says of throttling, in seconds; 0 where it says nothing.
double throttled_s(const std::string& text) {
    for (const auto& [name, scale] : {std::pair("throttled_usec ", 1e-6), std::pair("throttled_time ", 1e-9)}) {
        const std::size_t at = text.find(name);
        if (at != std::string::npos) {
            return number_at(text.c_str() + at + std::strlen(name)).value_or(0) * scale;
        }
    }
    return 0;
}

bool has_quota(const std::string& directory) {
    const std::string two = first_line(directory + "/cpu.max");
    const std::string one = first_line(directory + "/cpu.cfs_quota_us");
    return (!two.empty() && two.compare(0, 3, "max") != 0) || (!one.empty() && one[0] != '-');
}

// The cpu.stat of this process's own control group, version 2 or 1, and of those above it that have a quota.
std::vector<KernelFile> find_throttle_files(const std::string& root) {
    std::vector<KernelFile> found;
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) {
            continue;
        }
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const bool unified = controllers == ",,";
        if (!unified && controllers.find(",cpu,") == std::string::npos) {
            continue;
        }
        for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
            // a container sees its own group as the mount's top, and its path from outside of it
            bool own = true;
            std::string group = line.substr(second + 1);
            // the top may have a quota, too, where it is another group's as seen from outside
            for (group = group == "/" ? "" : group;;
                 group.erase(group.find('/') == std::string::npos ? 0 : group.rfind('/'))) {
                std::string directory = root;
                directory.append(mount).append(group);
                KernelFile file(directory + "/cpu.stat");
                if (file.there() && (own || has_quota(directory))) {
                    found.push_back(std::move(file));
                    own = false;
                }
                if (group.empty()) {
                    break;
                }
            }
            if (!found.empty()) {
                return found;
            }
        }
    }
    return found;
}

// The counters of heat events, one for each core and socket; of sockets alone where there are very many cores.
std::vector<KernelFile> find_heat_files(const std::string& root) {
    constexpr std::size_t kMostCores = 64;
    const std::string base = root + "/sys/devices/system/cpu/cpu";
    std::vector<KernelFile> cores;
    std::vector<KernelFile> packages;
    std::set<std::string> seen;
    for (int p = 0; access((base + std::to_string(p) + "/topology").c_str(), F_OK) == 0; ++p) {
        const std::string here = base + std::to_string(p);
        const std::string package = first_line(here + "/topology/physical_package_id");
        if (seen.insert(package).second) {
            KernelFile file(here + "/thermal_throttle/package_throttle_count");
            if (!file.there()) {
                return {};
            }
            packages.push_back(std::move(file));
        }
        if (cores.size() <= kMostCores && seen.insert(package + "/" + first_line(here + "/topology/core_id")).second) {
            cores.emplace_back(here + "/thermal_throttle/core_throttle_count");
        }
    }
    if (cores.size() <= kMostCores) {
        std::move(cores.begin(), cores.end(), std::back_inserter(packages));
    }
    return packages;
}

// The processors that this process may use.
std::vector<int> own_processors() {
    constexpr int kMost = 8192;
    std::array<unsigned long, kMost / (8 * sizeof(unsigned long))> words{};
    auto* set = reinterpret_cast<cpu_set_t*>(words.data());
    std::vector<int> found;
    if (sched_getaffinity(0, sizeof words, set) == 0) {
        for (int p = 0; p < kMost; ++p) {
            if (CPU_ISSET_S(static_cast<std::size_t>(p), sizeof words, set) != 0) {
                found.push_back(p);
            }
        }
    }
    return found;
}

// Enough for a line of each processor in /proc/stat.
std::size_t stat_bytes() { return 4096 + 128 * static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF))); }

}  // namespace

KernelFile::KernelFile(const std::string& path, std::size_t most)
    : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)), most_(most) {}

KernelFile::KernelFile(KernelFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), most_(other.most_) {}

KernelFile::~KernelFile() {
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

std::string KernelFile::read() const {
    if (descriptor_ < 0) {
        return {};
    }
    std::string text(most_, '\0');
    const ssize_t count = pread(descriptor_, text.data(), text.size(), 0);
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
}

std::optional<double> KernelFile::leading_number() const {
    std::array<char, 32> text{};
    const ssize_t count = descriptor_ < 0 ? 0 : pread(descriptor_, text.data(), text.size() - 1, 0);
    return count > 0 ? number_at(text.data()) : std::nullopt;
}

Conditions::Conditions(std::string root)
    : root_(std::move(root)),
      allowed_(own_processors()),
      stat_(root_ + "/proc/stat", stat_bytes()),
      load_(root_ + "/proc/loadavg"),
      throttle_(find_throttle_files(root_)),
      heat_(find_heat_files(root_)) {
    for (const char* what : {"cpu", "memory", "io"}) {
        pressure_.emplace_back(std::string("pressure_") + what + "_s", KernelFile(root_ + "/proc/pressure/" + what));
    }
    const std::string base = first_line(root_ + "/sys/devices/system/cpu/cpu0/cpufreq/base_frequency");
    base_frequency_ = number_at(base.c_str()).value_or(0) * 1e3;
}

Reading Conditions::read(const std::optional<std::vector<int>>& mask, const std::vector<int>& domain) const {
    Reading reading;
    read_processor_time(stat_.read(), mask.value_or(allowed_), domain, reading);
    for (const auto& [name, file] : pressure_) {
        read_pressure(file.read(), name, reading);
    }
    if (!throttle_.empty()) {
        double& total = reading["throttled_s"];
        for (const KernelFile& file : throttle_) {
            total += throttled_s(file.read());
        }
    }
    if (!heat_.empty()) {
        double& total = reading["heat_events"];
        for (const KernelFile& file : heat_) {
            total += file.number();
        }
    }
    return reading;
}

double Conditions::frequency(const std::vector<int>& processors) const {
    double sum = 0;
    int count = 0;
    for (const int p : processors) {
        const KernelFile file(root_ + "/sys/devices/system/cpu/cpu" + std::to_string(p) + "/cpufreq/scaling_cur_freq");
        // some drivers write that they do not know
        if (const std::optional<double> kilohertz = file.leading_number()) {
            sum += *kilohertz * 1e3;
            ++count;
        }
    }
    return count > 0 ? sum / count : 0;
}

double Conditions::load_average() const { return load_.number(); }

// The fourth field of /proc/loadavg, proc_loadavg(5), is how many can run now, and of how many.
double Conditions::ready_now() const {
    const std::string text = load_.read();
    const std::size_t stroke = text.find('/');
    const std::size_t blank = text.rfind(' ', stroke);
    if (stroke == std::string::npos || blank == std::string::npos) {
        return 0;
    }
    return std::max(0.0, number_at(text.c_str() + blank).value_or(0) - 1);
}

double Conditions::ready() const {
    // whoever asked for this run may still be on its way to sleep, behind this process on its processor
    constexpr int kLooks = 3;
    constexpr timespec kPause{0, 50'000};
    double least = ready_now();
    for (int look = 1; look < kLooks && least > 0; ++look) {
        nanosleep(&kPause, nullptr);
        least = std::min(least, ready_now());
    }
    return least;
}

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
