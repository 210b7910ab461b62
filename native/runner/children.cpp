// SPDX-License-Identifier: BSD-3-Clause
#include "runner/children.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace nodewise {
namespace {

// Kernels without the list of children still say of each process whose child it is.
std::vector<pid_t> children_by_search(pid_t parent) {
    std::vector<pid_t> found;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) {
            continue;
        }
        std::ifstream file(entry.path() / "stat");
        std::string line;
        std::getline(file, line);
        // the name before it, in parentheses, may hold blanks and parentheses
        const std::size_t end = line.rfind(") ");
        if (end != std::string::npos && end + 4 < line.size() && std::strtol(&line[end + 4], nullptr, 10) == parent) {
            found.push_back(static_cast<pid_t>(std::strtol(name.c_str(), nullptr, 10)));
        }
    }
    return found;
}

// For so many rounds of a millisecond a keeper is not killed.
constexpr int kPatience = 500;

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }

std::string name_of(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

}  // namespace

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> own_children() {
    const std::string self = std::to_string(getpid());
    std::ifstream file("/proc/" + self + "/task/" + self + "/children");
    if (!file) {
        return children_by_search(getpid());
    }
    std::vector<pid_t> found;
    for (pid_t pid = 0; file >> pid;) {
        found.push_back(pid);
    }
    return found;
}

Left end_children(pid_t group) {
    Left left;
    std::map<pid_t, std::string> found;
    for (int round = 0; round < 1000; ++round) {
        int ended = 0;
        rusage used{};
        while ((ended = wait4(-1, nullptr, WNOHANG, &used)) > 0) {
            left.processor_s += seconds(used.ru_utime) + seconds(used.ru_stime);
        }
        if (ended < 0) {
            break;
        }
        // children of those that are ended here become ours in their turn
        const std::vector<pid_t> children = own_children();
        for (const pid_t pid : children) {
            if (found.count(pid) == 0) {
                found[pid] = name_of(pid);
            }
        }
        if (group > 0) {
            kill(-group, SIGKILL);
        }
        for (const pid_t pid : children) {
            // it puts back what was changed on the machine, and ends by itself once its guard is gone
            if (round >= kPatience || found[pid] != kKeeper) {
                kill(pid, SIGKILL);
            }
        }
        const timespec pause{0, 1'000'000};
        nanosleep(&pause, nullptr);
    }
    left.names.reserve(found.size());
    for (const auto& [pid, name] : found) {
        if (name != kKeeper) {
            left.names.push_back(name);
        }
    }
    return left;
}

}  // namespace nodewise
