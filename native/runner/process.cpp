// SPDX-License-Identifier: BSD-3-Clause
#include "runner/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <ctime>
#include <system_error>
#include <utility>

#include "runner/children.h"

namespace nodewise {
namespace {

constexpr std::size_t kStackBytes = std::size_t{64} << 10;
constexpr double kGrace_s = 0.5;
constexpr int kPipeBytes = 1 << 20;
constexpr double kLongestWait_s = 60;

double now(clockid_t clock = CLOCK_MONOTONIC) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (const std::string& t : texts) {
        out.push_back(const_cast<char*>(t.c_str()));  // NOLINT: execve takes char* const[] and does not write
    }
    out.push_back(nullptr);
    return out;
}

// What the child says back.
struct Answer {
    timespec begin{};
    const char* failed_step = nullptr;
    int failed_errno = 0;

    bool began() const { return begin.tv_sec != 0 || begin.tv_nsec != 0; }
};

// In a page that is shared in any case: an emulator of programs (QEMU's) makes a fork of the clone.
Answer* shared_answer() {
    static void* page = mmap(nullptr, sizeof(Answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static Answer own;
    return page == MAP_FAILED ? &own : static_cast<Answer*>(page);
}

// After a clone that was made a fork nothing held us until the exec: the child is still on its way. Else it has
// answered, or has ended.
void await_answer(int pid, const Answer& answer) {
    siginfo_t ended{};
    for (int tries = 0; tries < 5000 && !answer.began() && answer.failed_step == nullptr; ++tries) {
        if (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0) {
            return;
        }
        usleep(1000);
    }
}

// What the child needs, prepared before the clone, since between clone and exec it may not allocate.
struct Launch {
    const char* program = nullptr;
    char* const* arguments = nullptr;
    char* const* environment = nullptr;
    const char* directory = nullptr;
    const cpu_set_t* mask = nullptr;
    cpu_set_t* mask_seen = nullptr;
    std::size_t mask_bytes = 0;
    const std::vector<std::pair<int, rlim_t>>* limits = nullptr;
    bool sets_memory = false;
    int memory_mode = 0;
    const unsigned long* memory_nodes = nullptr;
    unsigned long memory_bits = 0;
    bool no_huge_pages = false;
    int input = -1;
    int output = -1;
    int error = -1;
    pid_t parent = 0;
    Answer* answer = nullptr;
};

// The signal by which a child was stopped for using the terminal, whose foreground it is not in; 0 where it was not.
int stopped_by_terminal(int pid) {
    siginfo_t stopped{};
    if (waitid(P_PID, static_cast<id_t>(pid), &stopped, WSTOPPED | WNOHANG) != 0 || stopped.si_pid != pid) {
        return 0;
    }
    return stopped.si_status == SIGTTIN || stopped.si_status == SIGTTOU ? stopped.si_status : 0;
}

int give_up(Launch* launch, const char* step) {
    launch->answer->failed_errno = errno;
    launch->answer->failed_step = step;
    _exit(127);
}

int child(void* argument) {
    auto* launch = static_cast<Launch*>(argument);
    setpgid(0, 0);
    // dies with the runner, also where that is killed; the runner might have been killed just before
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launch->parent) {
        _exit(127);
    }
    for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD}) {
        signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    if (dup2(launch->input, 0) < 0 || dup2(launch->output, 1) < 0 || dup2(launch->error, 2) < 0) {
        return give_up(launch, "standard streams");
    }
    if (launch->directory[0] != '\0' && chdir(launch->directory) != 0) {
        return give_up(launch, "working directory");
    }
    if (launch->mask != nullptr && sched_setaffinity(0, launch->mask_bytes, launch->mask) != 0) {
        return give_up(launch, "affinity");
    }
    // where a cpuset leaves a part of the mask only, the system takes that part without a word
    if (launch->mask != nullptr && (sched_getaffinity(0, launch->mask_bytes, launch->mask_seen) != 0 ||
                                    CPU_EQUAL_S(launch->mask_bytes, launch->mask, launch->mask_seen) == 0)) {
        errno = EINVAL;
        return give_up(launch, "affinity read back");
    }
    if (launch->sets_memory &&
        syscall(SYS_set_mempolicy, launch->memory_mode, launch->memory_nodes, launch->memory_bits) != 0) {
        return give_up(launch, "memory policy");
    }
    if (launch->no_huge_pages && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) {
        return give_up(launch, "huge pages");
    }
    for (const auto& [resource, value] : *launch->limits) {
        const rlimit limit{value, value};
        if (setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) {
            return give_up(launch, "resource limit");
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &launch->answer->begin);
    execve(launch->program, launch->arguments, launch->environment);
    return give_up(launch, "exec");
}

class Mask {
  public:
    explicit Mask(const std::optional<std::vector<int>>& processors) {
        if (!processors) {
            return;
        }
        int most = 1023;
        for (const int p : *processors) {
            most = std::max(most, p);
        }
        set_ = CPU_ALLOC(static_cast<std::size_t>(most) + 1);
        seen_ = CPU_ALLOC(static_cast<std::size_t>(most) + 1);
        bytes_ = CPU_ALLOC_SIZE(static_cast<std::size_t>(most) + 1);
        CPU_ZERO_S(bytes_, set_);
        CPU_ZERO_S(bytes_, seen_);
        for (const int p : *processors) {
            CPU_SET_S(static_cast<std::size_t>(p), bytes_, set_);
        }
    }
    ~Mask() {
        if (set_ != nullptr) {
            CPU_FREE(set_);
            CPU_FREE(seen_);
        }
    }
    Mask(const Mask&) = delete;
    Mask& operator=(const Mask&) = delete;
    [[nodiscard]] const cpu_set_t* set() const { return set_; }
    [[nodiscard]] cpu_set_t* seen() const { return seen_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    cpu_set_t* set_ = nullptr;
    cpu_set_t* seen_ = nullptr;
    std::size_t bytes_ = 0;
};

// The nodes of a policy as the kernel takes them.
// The processors that an ended process's main thread might use, where they are not within `mask`; else none.
std::vector<int> strayed_mask(pid_t pid, const std::vector<int>& mask) {
    constexpr int kMost = 8192;
    std::array<unsigned long, kMost / (8 * sizeof(unsigned long))> words{};
    auto* set = reinterpret_cast<cpu_set_t*>(words.data());
    if (sched_getaffinity(pid, sizeof words, set) != 0) {
        return {};
    }
    std::vector<int> allowed;
    bool strayed = false;
    constexpr int kBits = 8 * sizeof(unsigned long);
    for (int p = 0; p < kMost; ++p) {
        if (words[static_cast<std::size_t>(p / kBits)] == 0) {
            p += kBits - 1;
        } else if (CPU_ISSET_S(static_cast<std::size_t>(p), sizeof words, set) != 0) {
            allowed.push_back(p);
            strayed |= std::find(mask.begin(), mask.end(), p) == mask.end();
        }
    }
    return strayed ? allowed : std::vector<int>();
}

std::vector<unsigned long> node_mask(const std::vector<int>& nodes) {
    constexpr int kBits = 8 * sizeof(unsigned long);
    std::vector<unsigned long> words;
    for (const int node : nodes) {
        if (node < 0) {
            continue;
        }
        const auto word = static_cast<std::size_t>(node / kBits);
        if (word >= words.size()) {
            words.resize(word + 1);
        }
        words[word] |= 1UL << (node % kBits);
    }
    return words;
}

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() { close(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int number() const { return number_; }
    int release() { return std::exchange(number_, -1); }
    void close() {
        if (number_ >= 0) {
            ::close(std::exchange(number_, -1));
        }
    }

  private:
    int number_;
};

class Pipe {
  public:
    Pipe() {
        if (pipe2(ends_.data(), O_CLOEXEC) != 0) {
            throw std::system_error(errno, std::generic_category(), "pipe");
        }
        // a large pipe lets a chatty program run on without waiting for us; a smaller one is no failure
        fcntl(ends_[0], F_SETPIPE_SZ, kPipeBytes);
        fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    }
    ~Pipe() {
        close_writer();
        close(ends_[0]);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    [[nodiscard]] int reader() const { return ends_[0]; }
    [[nodiscard]] int writer() const { return ends_[1]; }
    void close_writer() {
        if (ends_[1] >= 0) {
            close(ends_[1]);
            ends_[1] = -1;
        }
    }

  private:
    std::array<int, 2> ends_{-1, -1};
};

}  // namespace

struct Process::Streams {
    Pipe out_pipe;
    Pipe err_pipe;
    Capture* out;
    Capture* err;
};

Process::Process(int control, int guard) : control_(control), guard_(guard), signals_(-1), stack_(kStackBytes) {
    // who ignores it, which is handed down, is never told of a child's end
    signal(SIGCHLD, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    // whoever is stopped goes on by it, and by nothing else; a stop itself shows nowhere
    sigaddset(&set, SIGCONT);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    adopt_orphans();
}

Process::~Process() { close(signals_); }

// Takes the signals that have come; whether one of them was that this process goes on.
bool Process::take_signals() {
    bool stopped = false;
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) > 0) {
        stopped |= info.ssi_signo == SIGCONT;
    }
    return stopped;
}

// The input, open; a pipe without a writer is waited for, so long as a run may take or kLongestWait_s.
int Process::open_input(const Job& job, Outcome& outcome) const {
    outcome.failed_step = "standard input";
    // without waiting, which nothing could end: a pipe is opened once its other end is
    Descriptor input(open(job.input.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat about{};
    if (input.number() < 0 || fstat(input.number(), &about) != 0) {
        outcome.failed_errno = errno;
        return -1;
    }
    if (S_ISFIFO(about.st_mode)) {
        const double until = now() + (job.timeout_s > 0 ? std::fmin(job.timeout_s, kLongestWait_s) : kLongestWait_s);
        std::array<pollfd, 3> watched{pollfd{input.number(), POLLIN, 0}, pollfd{control_, POLLIN, 0},
                                      pollfd{guard_, POLLIN, 0}};
        int ready = 0;
        do {
            ready =
                poll(watched.data(), watched.size(), static_cast<int>(std::ceil(std::fmax(0.0, until - now()) * 1e3)));
        } while (ready < 0 && errno == EINTR);
        if (watched[0].revents == 0) {
            outcome.failed_errno = ready > 0 ? ECANCELED : ETIMEDOUT;
            return -1;
        }
    }
    if (fcntl(input.number(), F_SETFL, fcntl(input.number(), F_GETFL) & ~O_NONBLOCK) != 0) {
        outcome.failed_errno = errno;
        return -1;
    }
    outcome.failed_step.clear();
    return input.release();
}

Outcome Process::run(const Job& job, Capture& out, Capture& err) {
    Outcome outcome;
    out.reset();
    err.reset();
    Descriptor input(open_input(job, outcome));
    if (!outcome.failed_step.empty()) {
        return outcome;
    }
    Streams streams{{}, {}, &out, &err};
    const Mask mask(job.mask);
    const std::vector<char*> arguments = pointers(job.arguments);
    const std::vector<char*> environment = pointers(job.environment);
    Launch launch;
    launch.program = job.program.c_str();
    launch.arguments = arguments.data();
    launch.environment = environment.data();
    launch.directory = job.directory.c_str();
    launch.mask = mask.set();
    launch.mask_seen = mask.seen();
    launch.mask_bytes = mask.bytes();
    launch.limits = &job.limits;
    const std::vector<unsigned long> nodes = job.memory ? node_mask(job.memory->nodes) : std::vector<unsigned long>();
    launch.sets_memory = job.memory.has_value();
    launch.memory_mode = job.memory ? job.memory->mode : 0;
    launch.memory_nodes = nodes.empty() ? nullptr : nodes.data();
    // the kernel takes off one
    launch.memory_bits = nodes.empty() ? 0 : nodes.size() * 8 * sizeof(unsigned long) + 1;
    launch.no_huge_pages = job.no_huge_pages;
    launch.input = input.number();
    launch.output = streams.out_pipe.writer();
    launch.error = streams.err_pipe.writer();
    launch.parent = getpid();
    Answer& answer = *(launch.answer = shared_answer());
    answer = Answer{};

    // a stop between two runs spoils neither
    take_signals();
    outcome.started_at = now(CLOCK_REALTIME);
    // shares our memory and holds us until its exec: as cheap as a start can be, whatever our size
    const int pid = clone(child, stack_.data() + stack_.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, &launch);
    const int clone_errno = errno;
    input.close();
    streams.out_pipe.close_writer();
    streams.err_pipe.close_writer();
    // one that was killed on its way to the exec has no time to report
    if (pid > 0) {
        await_answer(pid, answer);
    }
    if (pid < 0 || answer.failed_step != nullptr || !answer.began()) {
        outcome.failed_step = answer.failed_step != nullptr ? answer.failed_step : "start";
        outcome.failed_errno = pid < 0 ? clone_errno : answer.failed_errno;
        if (pid > 0) {
            waitpid(pid, nullptr, 0);
        }
        return outcome;
    }
    wait_for_end(pid, job, streams, outcome);
    const double begin = static_cast<double>(answer.begin.tv_sec) + static_cast<double>(answer.begin.tv_nsec) * 1e-9;
    outcome.wall_s -= begin;
    out.drain(streams.out_pipe.reader());
    err.drain(streams.err_pipe.reader());
    out.finish();
    err.finish();
    outcome.left = end_children(pid);
    return outcome;
}

// Sets wall_s to the clock at the end; the caller takes off the beginning.
void Process::wait_for_end(int pid, const Job& job, Streams& streams, Outcome& outcome) {
    double deadline = job.timeout_s > 0 ? now() + job.timeout_s : 0;
    std::array<pollfd, 5> watched{pollfd{signals_, POLLIN, 0}, pollfd{streams.out_pipe.reader(), POLLIN, 0},
                                  pollfd{streams.err_pipe.reader(), POLLIN, 0}, pollfd{control_, POLLIN, 0},
                                  pollfd{guard_, POLLIN, 0}};
    bool asked = false;
    for (Look& look : looks_) {
        look.due = now() + look.first_s;
    }
    for (;;) {
        siginfo_t ended{};
        // once it has been taken away it can no longer be asked where it was bound, nor how long it waited
        if (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == pid) {
            outcome.wall_s = now();
            outcome.stopped |= take_signals();
            if (job.mask) {
                outcome.rebound = strayed_mask(pid, *job.mask);
            }
            at_end_(pid);
            int status = 0;
            wait4(pid, &status, 0, &outcome.usage);
            outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
            outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
            return;
        }
        int wait_ms = -1;
        double until = deadline > 0 ? deadline : HUGE_VAL;
        for (const Look& look : looks_) {
            until = std::fmin(until, look.due);
        }
        if (std::isfinite(until)) {
            wait_ms = static_cast<int>(std::ceil(std::fmax(0.0, until - now()) * 1e3));
        }
        poll(watched.data(), watched.size(), wait_ms);
        for (Look& look : looks_) {
            if (now() >= look.due) {
                look.due = look.what(pid) + now();
            }
        }
        if (watched[0].revents != 0) {
            outcome.stopped |= take_signals();
            outcome.by_terminal = outcome.by_terminal != 0 ? outcome.by_terminal : stopped_by_terminal(pid);
        }
        if (watched[1].revents != 0 && !streams.out->drain(watched[1].fd)) {
            watched[1].fd = -1;
        }
        if (watched[2].revents != 0 && !streams.err->drain(watched[2].fd)) {
            watched[2].fd = -1;
        }
        const bool cancel = watched[3].revents != 0 || watched[4].revents != 0;
        if (cancel) {
            watched[3].fd = -1;
            watched[4].fd = -1;
            outcome.cancelled = true;
        } else if (outcome.by_terminal != 0 && !asked) {
            // nobody would let it go on
        } else if (deadline > 0 && now() >= deadline && !asked) {
            outcome.timed_out = true;
        } else if (deadline == 0 || now() < deadline) {
            continue;
        }
        // ask once, then insist; a stopped process has to be woken to hear either
        kill(-pid, asked ? SIGKILL : SIGTERM);
        kill(-pid, SIGCONT);
        asked = true;
        deadline = now() + kGrace_s;
    }
}

}  // namespace nodewise
