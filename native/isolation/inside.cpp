// SPDX-License-Identifier: BSD-3-Clause
#include "isolation/inside.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

#include "json/json.h"

namespace nodewise {
namespace {

constexpr int kCannotStart = 127;
constexpr std::array kPassedOn{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

volatile sig_atomic_t program = 0;

void pass_on(int number) {
    if (program > 0) {
        kill(program, number);
    }
}

double now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }

int open_channel(const std::string& channel) {
    if (channel.rfind("fd:", 0) == 0) {
        const int number = static_cast<int>(std::strtol(channel.c_str() + 3, nullptr, 10));
        // not the program's to write into
        fcntl(number, F_SETFD, FD_CLOEXEC);
        return number;
    }
    return open(channel.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
}

void say(int to, const Json& line) {
    const std::string text = to_text(line) + "\n";
    // a report that cannot be written is missed by who reads it
    [[maybe_unused]] const ssize_t written = write(to, text.data(), text.size());
    fsync(to);
}

struct Launch {
    char** words = nullptr;
    double begin = 0;
    int failed = 0;
};

int become(void* argument) {
    auto* launch = static_cast<Launch*>(argument);
    for (const int number : kPassedOn) {
        signal(number, SIG_DFL);
    }
    signal(SIGPIPE, SIG_DFL);
    launch->begin = now();
    execvp(launch->words[0], launch->words);
    launch->failed = errno;
    _exit(kCannotStart);
}

}  // namespace

int run_inside(const std::string& channel, char** words) {
    const int to = open_channel(channel);
    if (to < 0) {
        return kCannotStart;
    }
    struct sigaction action{};
    action.sa_handler = pass_on;
    for (const int number : kPassedOn) {
        sigaction(number, &action, nullptr);
    }
    // the first process of a container is handed what its own program leaves
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    constexpr std::size_t kStackBytes = std::size_t{8} << 20;
    const std::unique_ptr<char[]> stack(new char[kStackBytes]);  // NOLINT(modernize-avoid-c-arrays): left untouched
    Launch launch{words};
    // shares our memory and holds us until its exec, so that we know when that was
    const pid_t pid = clone(become, stack.get() + kStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &launch);
    if (pid < 0 || launch.failed != 0) {
        const int problem = pid < 0 ? errno : launch.failed;
        // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
        say(to, {{"failed", std::strerror(problem)}, {"errno", problem}});
        return kCannotStart;
    }
    program = pid;
    say(to, {{"begin", launch.begin}});
    int status = 0;
    rusage usage{};
    for (pid_t ended = 0; ended != pid;) {
        ended = wait4(-1, &status, 0, &usage);
        if (ended < 0 && errno != EINTR) {
            return kCannotStart;
        }
    }
    const double end = now();
    say(to, {{"end", end},
             {"wall_s", end - launch.begin},
             {"user_s", seconds(usage.ru_utime)},
             {"system_s", seconds(usage.ru_stime)},
             {"peak_bytes", usage.ru_maxrss * 1024},
             {"exit_code", WIFEXITED(status) ? WEXITSTATUS(status) : -1},
             {"signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0}});
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace nodewise
