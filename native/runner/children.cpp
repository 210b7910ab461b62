// SPDX-License-Identifier: BSD-3-Clause
#include "runner/children.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
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

int end_children(pid_t group) {
    int found = 0;
    for (int round = 0; round < 1000; ++round) {
        const int ended = waitpid(-1, nullptr, WNOHANG);
        if (ended > 0) {
            continue;
        }
        if (ended < 0) {
            break;
        }
        const std::vector<pid_t> children = own_children();
        if (round == 0) {
            found = static_cast<int>(children.size());
        }
        if (group > 0) {
            kill(-group, SIGKILL);
        }
        for (const pid_t pid : children) {
            kill(pid, SIGKILL);
        }
        const timespec pause{0, 1'000'000};
        nanosleep(&pause, nullptr);
    }
    return found;
}

}  // namespace nodewise
