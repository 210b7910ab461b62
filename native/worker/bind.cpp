// SPDX-License-Identifier: BSD-3-Clause
#include "worker/bind.h"

#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace nodewise {
namespace {

// A thread works that ran for this share of the time of the one that ran longest; so much of the process's time may be
// that of threads that are not known.
constexpr double kWorks = 0.1;
constexpr double kUnknown = 0.2;

// Seconds that each thread of this process has run; empty where the system does not say.
std::map<pid_t, double> run_times() {
    std::map<pid_t, double> times;
    std::error_code none;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", none)) {
        std::ifstream file(task.path() / "schedstat");
        double nanoseconds = 0;
        if (file >> nanoseconds) {
            times[static_cast<pid_t>(std::strtol(task.path().filename().c_str(), nullptr, 10))] = nanoseconds * 1e-9;
        }
    }
    return times;
}

double process_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The threads of the pool that OpenMP has here, by their numbers in it; it is made where there is none.
std::vector<pid_t> own_pool(std::size_t threads) {
    std::vector<pid_t> ids;
#pragma omp parallel num_threads(static_cast<int>(threads))
    {
#pragma omp single
        ids.resize(static_cast<std::size_t>(omp_get_num_threads()));
        ids[static_cast<std::size_t>(omp_get_thread_num())] = static_cast<pid_t>(syscall(SYS_gettid));
    }
    return ids;
}

bool hold(pid_t thread, const cpu_set_t& place) { return sched_setaffinity(thread, sizeof place, &place) == 0; }

}  // namespace

std::vector<cpu_set_t> places_asked(const char* text) {
    std::vector<cpu_set_t> places(1);
    CPU_ZERO(&places.back());
    for (const char* at = text; at != nullptr && *at != '\0';) {
        char* end = nullptr;
        const long processor = std::strtol(at, &end, 10);
        if (end == at || processor < 0 || processor >= CPU_SETSIZE) {
            return {};
        }
        CPU_SET(static_cast<std::size_t>(processor), &places.back());
        if (*end == ':') {
            places.emplace_back();
            CPU_ZERO(&places.back());
        } else if (*end != ',' && *end != '\0') {
            return {};
        }
        at = *end == '\0' ? end : end + 1;
    }
    return CPU_COUNT(&places.front()) == 0 ? std::vector<cpu_set_t>{} : places;
}

Binder::Binder(std::vector<cpu_set_t> places) : places_(std::move(places)) {
    CPU_ZERO(&all_);
    for (const cpu_set_t& place : places_) {
        CPU_OR(&all_, &all_, &place);
    }
}

void Binder::free_first() const {
    if (asked() && bound_ && !own_pool_) {
        hold(0, all_);
    }
}

void Binder::ready() const {
    if (!asked() || own_pool_) {
        return;
    }
    omp_pause_resource_all(omp_pause_hard);
    if (bound_ && first_works_) {
        hold(0, places_[0]);
    }
}

void Binder::begin() {
    ready();
    before_ = run_times();
    process_before_ = process_seconds();
}

void Binder::end() {
    process_ += process_seconds() - process_before_;
    std::map<pid_t, double> ran = run_times();
    for (auto& [thread, seconds] : ran) {
        const auto before = before_.find(thread);
        seconds -= before != before_.end() ? before->second : 0;
        seen_ += seconds;
        if (const auto earlier = ran_.find(thread); earlier != ran_.end()) {
            seconds += earlier->second;
        }
    }
    // those that have ended since are no threads to bind
    ran_ = std::move(ran);
}

int Binder::bind() {
    double most = 0;
    for (const auto& [thread, seconds] : ran_) {
        most = std::max(most, seconds);
    }
    std::vector<pid_t> working;
    for (const auto& [thread, seconds] : ran_) {
        if (seconds > 0 && seconds >= kWorks * most) {
            working.push_back(thread);
        }
    }
    if (working.empty() || working.size() > places_.size() || seen_ < (1 - kUnknown) * process_) {
        return 0;
    }
    // the first thread has the lowest number, and so the first place
    first_works_ = working[0] == getpid();
    std::vector<pid_t> own = own_pool(places_.size());
    // it was ended before the run, so that a thread of it that is there was made by the run. All of these are bound,
    // also those which had hardly any work in so short a time: one that is left free waits behind those that are bound
    own.erase(std::remove_if(own.begin() + 1, own.end(), [&](pid_t thread) { return ran_.count(thread) == 0; }),
              own.end());
    own_pool_ = own.size() > 1 && std::all_of(working.begin(), working.end(), [&](pid_t thread) {
                    return std::find(own.begin(), own.end(), thread) != own.end();
                });
    const std::vector<pid_t>& held = own_pool_ ? own : working;
    for (std::size_t i = 0; i < held.size(); ++i) {
        if (!hold(held[i], places_[i])) {
            return 0;
        }
    }
    bound_ = true;
    return static_cast<int>(held.size());
}

}  // namespace nodewise
