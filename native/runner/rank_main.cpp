// SPDX-License-Identifier: BSD-3-Clause
// nodewise-rank FOLDER VARIABLES PROGRAM [ARGUMENT...]: starts one rank of a job, passes on what it prints and the
// signals that it gets, and ends as it does. VARIABLES are those by which launchers number their ranks, separated by
// commas; the first that is set counts. FOLDER/HOST.PID gets a line of JSON when the rank begins and another one when
// it has ended; where there is only the first, it was killed with us.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "json/json.h"
#include "runner/capture.h"
#include "runner/waiting.h"

namespace {

using nodewise::Json;

constexpr int kCannotStart = 127;
// What whoever starts ranks sends them, or the terminal does, is the program's to hear.
constexpr std::array kPassedOn{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP, SIGALRM, SIGWINCH};

double now(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }

int fail(const std::string& what) {
    std::fprintf(stderr, "nodewise-rank: %s\n", what.c_str());
    return kCannotStart;
}

// NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
const char* variable(const std::string& name) { return std::getenv(name.c_str()); }

// The rank by the first of the variables that is set to a number; -1 where none is.
int rank_of(const std::string& variables) {
    std::istringstream names(variables);
    for (std::string name; std::getline(names, name, ',');) {
        const char* text = variable(name);
        char* end = nullptr;
        const long number = text == nullptr ? -1 : std::strtol(text, &end, 10);
        if (text != nullptr && end != text && *end == '\0' && number >= 0) {
            return static_cast<int>(number);
        }
    }
    return -1;
}

// The processors that this process, and so the program, may use.
std::vector<int> allowed() {
    constexpr int kMost = 8192;
    std::array<unsigned long, kMost / (8 * sizeof(unsigned long))> words{};
    std::vector<int> found;
    if (sched_getaffinity(0, sizeof words, reinterpret_cast<cpu_set_t*>(words.data())) != 0) {
        return found;
    }
    for (int p = 0; p < kMost; ++p) {
        if (CPU_ISSET_S(static_cast<std::size_t>(p), sizeof words, reinterpret_cast<cpu_set_t*>(words.data())) != 0) {
            found.push_back(p);
        }
    }
    return found;
}

// The memory policy that the program gets: the kernel's number of the mode, and the nodes; null where it is the
// default.
Json memory_policy() {
    constexpr unsigned long kMost = 1024;
    constexpr unsigned long kBits = 8 * sizeof(unsigned long);
    int mode = 0;
    std::array<unsigned long, kMost / kBits> words{};
    if (syscall(SYS_get_mempolicy, &mode, words.data(), kMost, nullptr, 0) != 0 || mode == 0) {
        return nullptr;
    }
    std::vector<std::uint64_t> nodes;
    for (unsigned long n = 0; n < kMost; ++n) {
        if ((words.at(n / kBits) >> (n % kBits) & 1) != 0) {
            nodes.push_back(n);
        }
    }
    return {{"mode", mode}, {"nodes", nodes}};
}

class Record {
  public:
    explicit Record(const std::string& path)
        : descriptor_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
    ~Record() {
        if (descriptor_ >= 0) {
            close(descriptor_);
        }
    }
    Record(const Record&) = delete;
    Record& operator=(const Record&) = delete;
    // In one write, so that a line is there whole or not at all.
    [[nodiscard]] bool add(const Json& line) const {
        const std::string text = nodewise::to_text(line) + "\n";
        return descriptor_ >= 0 && write(descriptor_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    }

  private:
    int descriptor_;
};

struct Stream {
    std::array<int, 2> ends{-1, -1};
    int to = -1;
    nodewise::Capture seen;

    bool make(int onto) {
        to = onto;
        if (pipe2(ends.data(), O_CLOEXEC) != 0) {
            return false;
        }
        constexpr int kPipeBytes = 1 << 20;
        // a large pipe lets a chatty program run on without waiting for us; a smaller one is no failure
        fcntl(ends[0], F_SETPIPE_SZ, kPipeBytes);
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        seen.reset();
        seen.pass_on(onto);
        return true;
    }
};

struct Launch {
    char** words = nullptr;
    const Stream* out = nullptr;
    const Stream* err = nullptr;
    const sigset_t* before = nullptr;
    pid_t parent = 0;
};

// Becomes the program; it shares our memory until then.
int become(void* argument) {
    const auto* launch = static_cast<const Launch*>(argument);
    // a rank does not outlive the one who would report it
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launch->parent || dup2(launch->out->ends[1], STDOUT_FILENO) < 0 ||
        dup2(launch->err->ends[1], STDERR_FILENO) < 0) {
        _exit(kCannotStart);
    }
    signal(SIGPIPE, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, launch->before, nullptr);
    execvp(launch->words[0], launch->words);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    std::fprintf(stderr, "nodewise-rank: %s cannot be started: %s\n", launch->words[0], std::strerror(errno));
    _exit(kCannotStart);
}

// Starts the program; its number, or -1. Where it cannot be executed the child itself says so, and ends with
// kCannotStart. A copy of our tables of pages would take half of the time of all the rest, so there is none.
pid_t start(char** words, const Stream& out, const Stream& err, const sigset_t& before) {
    // as many words as the system takes fit on it, where a script without a first line is started through a shell
    constexpr std::size_t kStackBytes = std::size_t{8} << 20;
    const std::unique_ptr<char[]> stack(new char[kStackBytes]);  // NOLINT(modernize-avoid-c-arrays): left untouched
    Launch launch{words, &out, &err, &before, getpid()};
    return clone(become, stack.get() + kStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &launch);
}

// Waits for the end, passing on output and signals; whether a signal asked for the end before it came.
bool wait_for_end(pid_t pid, int signals, Stream& out, Stream& err, nodewise::Waiting& threads) {
    std::array<pollfd, 3> watched{pollfd{signals, POLLIN, 0}, pollfd{out.ends[0], POLLIN, 0},
                                  pollfd{err.ends[0], POLLIN, 0}};
    bool asked = false;
    double due = now(CLOCK_MONOTONIC) + nodewise::Waiting::kFirst_s;
    for (;;) {
        siginfo_t ended{};
        if (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == pid) {
            return asked;
        }
        const double left = std::fmax(0.0, due - now(CLOCK_MONOTONIC));
        poll(watched.data(), watched.size(), static_cast<int>(std::ceil(left * 1e3)));
        if (now(CLOCK_MONOTONIC) >= due) {
            due = threads.look(pid) + now(CLOCK_MONOTONIC);
        }
        signalfd_siginfo info{};
        while (read(signals, &info, sizeof info) == sizeof info) {
            if (info.ssi_signo != SIGCHLD) {
                const int number = static_cast<int>(info.ssi_signo);
                asked |= number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
                kill(pid, number);
            }
        }
        for (std::size_t i = 1; i < watched.size(); ++i) {
            nodewise::Capture& seen = i == 1 ? out.seen : err.seen;
            if (watched.at(i).revents != 0 && !seen.drain(watched.at(i).fd)) {
                watched.at(i).fd = -1;
            }
        }
    }
}

int end_as(int status) {
    if (!WIFSIGNALED(status)) {
        return WEXITSTATUS(status);
    }
    // whoever started us hears of the same signal; one core file is enough
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(WTERMSIG(status), SIG_DFL);
    sigset_t every;
    sigemptyset(&every);
    pthread_sigmask(SIG_SETMASK, &every, nullptr);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

int run(const std::string& folder, const std::string& variables, char** words) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    const Record record(folder + "/" + host.data() + "." + std::to_string(getpid()));
    const Json memory = memory_policy();
    Json line = {{"rank", rank_of(variables)}, {"host", host.data()}, {"pid", getpid()},
                 {"allowed", allowed()},       {"memory", memory},    {"ended", false}};
    if (!record.add(line)) {
        return fail("cannot write below " + folder + ": is it there on this node?");
    }
    Stream out;
    Stream err;
    // who ignores it, which is handed down, is never told of a child's end
    signal(SIGCHLD, SIG_DFL);
    sigset_t held;
    sigset_t before;
    sigemptyset(&held);
    sigaddset(&held, SIGCHLD);
    for (const int number : kPassedOn) {
        sigaddset(&held, number);
    }
    pthread_sigmask(SIG_BLOCK, &held, &before);
    signal(SIGPIPE, SIG_IGN);
    const int signals = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0 || !out.make(STDOUT_FILENO) || !err.make(STDERR_FILENO)) {
        return fail(std::strerror(errno));  // NOLINT(concurrency-mt-unsafe): one thread
    }
    nodewise::Waiting threads;
    threads.start();
    const double started_at = now(CLOCK_REALTIME);
    const double begin = now(CLOCK_MONOTONIC);
    const pid_t pid = start(words, out, err, before);
    if (pid < 0) {
        return fail(std::strerror(errno));  // NOLINT(concurrency-mt-unsafe): one thread
    }
    close(out.ends[1]);
    close(err.ends[1]);
    const bool asked = wait_for_end(pid, signals, out, err, threads);
    const double wall_s = now(CLOCK_MONOTONIC) - begin;
    threads.end(pid);
    int status = 0;
    rusage usage{};
    wait4(pid, &status, 0, &usage);
    for (Stream* stream : {&out, &err}) {
        stream->seen.drain(stream->ends[0]);
        stream->seen.finish();
    }
    const auto counted = threads.stop();
    const auto busy = counted.find("watched_threads");
    line.set("ended", true);
    line.set("asked", asked);
    line.set("started_at", started_at);
    line.set("wall_s", wall_s);
    line.set("user_s", seconds(usage.ru_utime));
    line.set("system_s", seconds(usage.ru_stime));
    line.set("peak_bytes", usage.ru_maxrss * 1024);
    line.set("threads", busy == counted.end() ? 0 : static_cast<int>(busy->second));
    line.set("exit_code", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    line.set("signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    std::vector<std::string> lines = out.seen.protocol_lines();
    lines.insert(lines.end(), err.seen.protocol_lines().begin(), err.seen.protocol_lines().end());
    line.set("protocol", lines);
    line.set("dropped", out.seen.protocol_dropped() + err.seen.protocol_dropped());
    line.set("out", out.seen.text());
    line.set("err", err.seen.text());
    if (!record.add(line)) {
        return fail("cannot write below " + folder);
    }
    return end_as(status);
}

}  // namespace

int main(int count, char** words) {
    if (count < 4) {
        return fail("usage: nodewise-rank FOLDER VARIABLES PROGRAM [ARGUMENT...]");
    }
    try {
        return run(words[1], words[2], words + 3);
    } catch (const std::exception& problem) {
        return fail(problem.what());
    }
}
