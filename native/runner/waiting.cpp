// SPDX-License-Identifier: BSD-3-Clause
#include "runner/waiting.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

namespace nodewise {
namespace {

constexpr double kGrowth = 0.25;
constexpr double kLongest_s = 1;
// A look costs no more than this share of the time until the next.
constexpr double kShare = 2e-3;
constexpr std::size_t kMostThreads = 1024;
// Of processes with more threads only the first is asked for its children.
constexpr int kFewThreads = 64;
constexpr int kDeepest = 16;

double now(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::string read_file(const std::string& path) {
    std::array<char, 4096> text{};
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return {};
    }
    const ssize_t count = ::read(descriptor, text.data(), text.size());
    close(descriptor);
    return {text.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

std::string folder_of(pid_t pid, pid_t thread) {
    return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread);
}

std::vector<pid_t> numbers(const std::string& text) {
    std::vector<pid_t> found;
    const char* at = text.c_str();
    for (char* end = nullptr;; at = end) {
        const long number = std::strtol(at, &end, 10);
        if (end == at) {
            return found;
        }
        found.push_back(static_cast<pid_t>(number));
    }
}

std::vector<pid_t> threads_of(pid_t pid) {
    std::vector<pid_t> found;
    const std::string path = "/proc/" + std::to_string(pid) + "/task";
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
    if (!folder) {
        return found;
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    for (const dirent* entry = readdir(folder.get()); entry != nullptr; entry = readdir(folder.get())) {
        if (entry->d_name[0] != '.') {
            found.push_back(static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)));
        }
    }
    return found;
}

}  // namespace

void Waiting::start() {
    threads_.clear();
    begin_s_ = now(CLOCK_MONOTONIC);
}

// /proc/PID/task/TID/schedstat: nanoseconds on a processor, nanoseconds ready and waiting, how often it got one; all
// zero where the kernel does not count (Documentation/scheduler/sched-stats.rst).
void Waiting::read(pid_t pid, pid_t thread) {
    const std::string text = read_file(folder_of(pid, thread) + "/schedstat");
    char* end = nullptr;
    const double ran_s = std::strtod(text.c_str(), &end) * 1e-9;
    const double waited_s = std::strtod(end, nullptr) * 1e-9;
    if (ran_s > 0) {
        threads_[thread] = {ran_s, waited_s};
    }
}

void Waiting::look_at(pid_t pid, int depth) {
    const std::vector<pid_t> threads = threads_of(pid);
    const bool few = threads.size() <= kFewThreads;
    for (const pid_t thread : threads) {
        if (++looked_at_ > kMostThreads) {
            return;
        }
        read(pid, thread);
        if (depth < kDeepest && (few || thread == pid)) {
            for (const pid_t child : numbers(read_file(folder_of(pid, thread) + "/children"))) {
                look_at(child, depth + 1);
            }
        }
    }
}

double Waiting::look(pid_t pid) {
    const double before = now(CLOCK_THREAD_CPUTIME_ID);
    looked_at_ = 0;
    look_at(pid, 0);
    const double cost = now(CLOCK_THREAD_CPUTIME_ID) - before;
    const double apart = kGrowth * (now(CLOCK_MONOTONIC) - begin_s_);
    return std::max(std::min(apart, kLongest_s), cost / kShare);
}

void Waiting::end(pid_t pid) { read(pid, pid); }

std::map<std::string, double> Waiting::stop() const {
    double ran_s = 0;
    double waited_s = 0;
    double busiest_s = 0;
    for (const auto& [thread, seen] : threads_) {
        ran_s += seen.ran_s;
        busiest_s = std::max(busiest_s, seen.ran_s);
        waited_s += seen.waited_s;
    }
    if (ran_s <= 0) {
        return {};
    }
    const auto busy = std::count_if(threads_.begin(), threads_.end(),
                                    [ran_s](const auto& t) { return t.second.ran_s >= ran_s / 20; });
    return {{"waited_s", waited_s},
            {"watched_s", ran_s},
            {"busiest_s", busiest_s},
            {"watched_threads", static_cast<double>(busy)}};
}

}  // namespace nodewise
