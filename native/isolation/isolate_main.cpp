// SPDX-License-Identifier: BSD-3-Clause
// nodewise-isolate run SPEC PROGRAM [ARGUMENT...]: starts a program isolated as SPEC (JSON) says, and ends as it does.
// nodewise-isolate inside CHANNEL PROGRAM [ARGUMENT...]: what the runtime starts, and what starts the program.
// As the first process of a guest, without words, it is the guest's system.
// All that is made ends with us, however we end: mounts, processes and files are of namespaces whose first process is
// killed with us, and runtimes find no control groups to write to.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "isolation/guest.h"
#include "isolation/inside.h"
#include "isolation/keeper.h"
#include "isolation/room.h"
#include "isolation/spec.h"

namespace {

constexpr int kCannotStart = 127;

volatile sig_atomic_t first = 0;

void pass_on(int number) {
    if (first > 0) {
        kill(first, number);
    }
}

void say(const std::exception& problem) { std::fprintf(stderr, "nodewise-isolate: %s\n", problem.what()); }

int end_as(const nodewise::End& end) {
    if (end.signal == 0) {
        return end.exit_code;
    }
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(end.signal, SIG_DFL);
    sigset_t every;
    sigemptyset(&every);
    pthread_sigmask(SIG_SETMASK, &every, nullptr);
    raise(end.signal);
    return 128 + end.signal;
}

// The first process of the room: it may not end by a signal, so its end is told through a pipe.
[[noreturn]] void live_in(nodewise::Room& room, const nodewise::Spec& spec, const std::string& folder, char** words,
                          int report, int ends) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // where who waits for us was killed just before, nobody reads
    pollfd reader{ends, 0, 0};
    if (poll(&reader, 1, 0) > 0) {
        _exit(kCannotStart);
    }
    nodewise::End end{kCannotStart, 0};
    try {
        room.furnish(spec);
        end = nodewise::keep(spec, &room, folder, words, report);
    } catch (const std::exception& problem) {
        say(problem);
    }
    [[maybe_unused]] const ssize_t written = write(ends, &end, sizeof end);
    _exit(0);
}

nodewise::End run_in_room(const nodewise::Spec& spec, const std::string& folder, char** words, int report) {
    nodewise::Room room(spec);
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return {kCannotStart, 0};
    }
    const pid_t pid = fork();
    if (pid == 0) {
        live_in(room, spec, folder, words, report, ends[1]);
    }
    close(ends[1]);
    first = pid;
    nodewise::End end{kCannotStart, SIGKILL};
    const bool told = pid > 0 && read(ends[0], &end, sizeof end) == sizeof end;
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!told) {
        return {kCannotStart, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    }
    return end;
}

int run(const std::string& text, char** words) {
    const double opened = nodewise::now();
    nodewise::Spec spec = nodewise::parse_spec(text);
    const int report = open(spec.report.empty() ? "/dev/null" : spec.report.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (report < 0) {
        std::fprintf(stderr, "nodewise-isolate: cannot write the report %s\n", spec.report.c_str());
        return kCannotStart;
    }
    nodewise::add_time(report, "opened", opened);
    if (!spec.initrd.empty()) {
        // where processes have other numbers the file of another one has no name any more
        spec.initrd = "/proc/self/fd/" + std::to_string(open(spec.initrd.c_str(), O_RDONLY | O_CLOEXEC));
    }
    std::array<char, 4096> folder{};
    if (getcwd(folder.data(), folder.size()) == nullptr) {
        std::fprintf(stderr, "nodewise-isolate: the working directory is gone\n");
        return kCannotStart;
    }
    nodewise::End end;
    if (spec.scratch) {
        struct sigaction action{};
        action.sa_handler = pass_on;
        action.sa_flags = SA_RESTART;
        for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
            sigaction(number, &action, nullptr);
        }
        end = run_in_room(spec, folder.data(), words, report);
    } else {
        end = nodewise::keep(spec, nullptr, folder.data(), words, report);
    }
    nodewise::add_time(report, "closed", nodewise::now());
    return end_as(end);
}

}  // namespace

int main(int count, char** words) {
    const std::string what = count > 1 ? words[1] : "";
    try {
        if (what == "run" && count > 3) {
            return run(words[2], words + 3);
        }
        if (what == "inside" && count > 3) {
            return nodewise::run_inside(words[2], words + 3);
        }
        if (getpid() == 1 && count == 1) {
            nodewise::run_guest();
        }
    } catch (const std::exception& problem) {
        say(problem);
        return kCannotStart;
    }
    std::fprintf(stderr, "nodewise-isolate: usage: nodewise-isolate run SPEC PROGRAM [ARGUMENT...]\n");
    return kCannotStart;
}
