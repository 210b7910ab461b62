// SPDX-License-Identifier: BSD-3-Clause
#include "isolation/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>
#include <utility>

#include "isolation/archive.h"
#include "json/json.h"

namespace nodewise {
namespace {

constexpr int kCannotStart = 127;
constexpr int kChannel = 3;
constexpr std::array kPassedOn{SIGTERM, SIGINT, SIGHUP, SIGQUIT};

void check(bool well, const std::string& what) {
    if (!well) {
        throw std::system_error(errno, std::generic_category(), what);
    }
}

std::vector<std::string> environment() {
    std::vector<std::string> found;
    for (char** one = environ; *one != nullptr; ++one) {
        found.emplace_back(*one);
    }
    return found;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
}

std::string own_path() {
    std::array<char, 4096> path{};
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
    return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "";
}

std::vector<std::string> started_inside(const std::string& self, const std::string& channel, char** words) {
    std::vector<std::string> all{self, "inside", channel};
    for (; *words != nullptr; ++words) {
        all.emplace_back(*words);
    }
    return all;
}

const std::string& shown_self() {
    static const std::string path = std::string(Room::kShared) + "/isolate";
    return path;
}

// A container's name, which runtimes also give to sockets that others of this system see.
std::string new_name() {
    std::uint64_t number = 0;
    check(getrandom(&number, sizeof number, 0) == sizeof number, "getrandom");
    return "nodewise-" + std::to_string(number);
}

std::vector<std::string> runtime_words(const Spec& spec, const Room* room, const std::string& folder, char** words) {
    std::vector<std::string> all;
    const std::string name = new_name();
    // who does not show us inside shows all of the system
    const bool shown = std::find(spec.words.begin(), spec.words.end(), "{self}") != spec.words.end();
    for (std::string word : spec.words) {
        if (word == "{program}") {
            const auto inside =
                started_inside(shown ? shown_self() : own_path(), "fd:" + std::to_string(kChannel), words);
            all.insert(all.end(), inside.begin(), inside.end());
            continue;
        }
        replace_all(word, "{self}", own_path());
        replace_all(word, "{cwd}", folder);
        replace_all(word, "{id}", name);
        replace_all(word, "{scratch}", room == nullptr ? "" : room->scratch());
        all.push_back(std::move(word));
    }
    return all;
}

void write_bundle(const Spec& spec, const Room& room, const std::string& folder, char** words) {
    Json config = parse_json(spec.config, "the bundle's configuration");
    Json process = config.contains("process") ? config.at("process") : Json();
    process.set("args", started_inside(shown_self(), std::string(Room::kShared) + "/report", words));
    process.set("env", environment());
    process.set("cwd", folder);
    config.set("process", process);
    std::ofstream file(room.scratch() + "/config.json");
    file << to_text(config);
    check(static_cast<bool>(file.flush()), "cannot write config.json");
}

// Notes by our clock when the report says that the program has begun and ended: what is inside may have a clock of its
// own.
class Watch {
  public:
    Watch(std::string folder, int report)
        : folder_(std::move(folder)), report_(report), descriptor_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
        check(descriptor_ >= 0 && inotify_add_watch(descriptor_, folder_.c_str(), IN_MODIFY) >= 0, "inotify");
    }
    virtual ~Watch() { close(descriptor_); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    [[nodiscard]] int descriptor() const { return descriptor_; }

    virtual void look() {
        std::array<char, 4096> events{};
        while (read(descriptor_, events.data(), events.size()) > 0) {
        }
        std::ifstream file(folder_ + "/report");
        int seen = 0;
        for (std::string line; std::getline(file, line);) {
            // other lines are of the guest's system
            seen += line.rfind("{\"begin\"", 0) == 0 || line.rfind("{\"end\"", 0) == 0 ? 1 : 0;
        }
        const double at = now();
        if (seen > 0 && seen_ == 0) {
            add_time(report_, "seen_begin", at);
        }
        if (seen > 1 && seen_ < 2) {
            add_time(report_, "seen_end", at);
        }
        seen_ = seen;
    }

  protected:
    [[nodiscard]] const std::string& folder() const { return folder_; }

  private:
    std::string folder_;
    int report_;
    int descriptor_;
    int seen_ = 0;
};

// What comes from a guest, which has no streams of ours: files that it appends to, passed on as they grow.
class Guest final : public Watch {
  public:
    Guest(const Spec& spec, const Room& room, const std::string& cwd, char** words, int report)
        : Watch(room.shared(), report) {
        copy_input();
        for (const char* name : {"stdout", "stderr"}) {
            std::ofstream(folder() + "/" + name).flush();
        }
        Json job = parse_json(spec.guest, "the guest's job");
        job.set("args", started_inside(shown_self(), std::string(Room::kShared) + "/report", words));
        job.set("env", environment());
        job.set("cwd", cwd);
        write_archive(spec.initrd, room.scratch() + "/initrd", {{"job.json", to_text(job)}});
    }

    void look() override {
        Watch::look();
        for (auto& [name, to, offset] : streams_) {
            pass_on(name, to, offset);
        }
    }

  private:
    struct Stream {
        const char* name;
        int to;
        off_t offset;
    };

    void pass_on(const char* name, int to, off_t& offset) const {
        const int from = open((folder() + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
        std::array<char, 65536> part{};
        for (ssize_t got = 0; from >= 0 && (got = pread(from, part.data(), part.size(), offset)) > 0; offset += got) {
            for (ssize_t put = 0; put < got;) {
                const ssize_t more = write(to, part.data() + put, static_cast<std::size_t>(got - put));
                if (more <= 0 && errno != EINTR) {
                    break;
                }
                put += std::max<ssize_t>(more, 0);
            }
        }
        close(from);
    }

    void copy_input() const {
        std::ofstream file(folder() + "/stdin", std::ios::binary);
        std::array<char, 65536> part{};
        for (ssize_t got = 0; (got = read(STDIN_FILENO, part.data(), part.size())) > 0;) {
            file.write(part.data(), got);
        }
    }

    std::array<Stream, 2> streams_{Stream{"stdout", STDOUT_FILENO, 0}, Stream{"stderr", STDERR_FILENO, 0}};
};

std::string read_whole(int from) {
    std::string text;
    std::array<char, 4096> part{};
    fcntl(from, F_SETFL, O_NONBLOCK);
    for (ssize_t got = 0; (got = read(from, part.data(), part.size())) > 0;) {
        text.append(part.data(), static_cast<std::size_t>(got));
    }
    return text;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> found;
    found.reserve(texts.size() + 1);
    for (const std::string& text : texts) {
        found.push_back(const_cast<char*>(text.c_str()));  // NOLINT: execvpe does not write
    }
    found.push_back(nullptr);
    return found;
}

// What a runtime gets of the variables where the program has its own from a file: TMPDIR or a preload are not for it.
std::vector<std::string> of_the_runtime() {
    std::vector<std::string> found;
    for (const std::string& one : environment()) {
        if (one.rfind("PATH=", 0) == 0 || one.rfind("HOME=", 0) == 0 || one.rfind("NODEWISE_", 0) == 0) {
            found.push_back(one);
        }
    }
    return found;
}

pid_t start(const std::vector<std::string>& texts, const std::vector<std::string>& variables, int channel,
            const sigset_t& before) {
    const std::vector<char*> words = pointers(texts);
    const std::vector<char*> names = pointers(variables);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(kCannotStart);
        }
        if (channel >= 0 && dup2(channel, kChannel) < 0) {
            _exit(kCannotStart);
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        execvpe(words[0], words.data(), names.data());
        // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
        std::fprintf(stderr, "%s cannot be started: %s\n", words[0], std::strerror(errno));
        _exit(kCannotStart);
    }
    return pid;
}

// Takes away all that has ended; whether `wanted` was among them, with its status.
bool reap(pid_t wanted, int& status) {
    bool found = false;
    int one = 0;
    for (pid_t ended = 0; (ended = waitpid(-1, &one, WNOHANG)) > 0;) {
        if (ended == wanted) {
            status = one;
            found = true;
        }
    }
    return found;
}

int wait_for(pid_t pid, Watch* watch, const sigset_t& held) {
    const int signals = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
    std::array<pollfd, 2> watched{pollfd{signals, POLLIN, 0},
                                  pollfd{watch == nullptr ? -1 : watch->descriptor(), POLLIN, 0}};
    int status = 0;
    while (!reap(pid, status)) {
        poll(watched.data(), watched.size(), -1);
        signalfd_siginfo info{};
        while (read(signals, &info, sizeof info) == sizeof info) {
            if (info.ssi_signo != SIGCHLD) {
                kill(pid, static_cast<int>(info.ssi_signo));
            }
        }
        if (watch != nullptr) {
            watch->look();
        }
    }
    if (watch != nullptr) {
        watch->look();
    }
    close(signals);
    return status;
}

// bwrap ends a moment before its own child, the first process inside, does.
void wait_for_rest() {
    constexpr int kRounds = 1000;
    constexpr timespec kPause{0, 1'000'000};
    for (int round = 0; round < kRounds; ++round) {
        const pid_t ended = waitpid(-1, nullptr, WNOHANG);
        if (ended < 0) {
            return;
        }
        if (ended == 0) {
            nanosleep(&kPause, nullptr);
        }
    }
}

End end_of(const std::string& said, int status) {
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
        Json found;
        try {
            found = parse_json(line, "the report");
        } catch (const std::exception&) {
            continue;
        }
        if (found.contains("exit_code")) {
            return {found.value("exit_code", 0), found.value("signal", 0)};
        }
    }
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

}  // namespace

double now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void add_time(int report, const char* what, double seconds) {
    const std::string text = to_text({{what, seconds}}) + "\n";
    [[maybe_unused]] const ssize_t written = write(report, text.data(), text.size());
}

End keep(const Spec& spec, const Room* room, const std::string& folder, char** words, int report) {
    std::unique_ptr<Watch> watch;
    std::array<int, 2> channel{-1, -1};
    if (room == nullptr) {
        check(pipe2(channel.data(), O_CLOEXEC) == 0, "pipe");
    } else if (!spec.initrd.empty()) {
        watch = std::make_unique<Guest>(spec, *room, folder, words, report);
    } else {
        write_bundle(spec, *room, folder, words);
        watch = std::make_unique<Watch>(room->shared(), report);
    }
    // what a runtime leaves is ours to wait for
    prctl(PR_SET_CHILD_SUBREAPER, 1);
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
    const std::vector<std::string> variables = room == nullptr ? environment() : of_the_runtime();
    const pid_t pid = start(runtime_words(spec, room, folder, words), variables, channel[1], before);
    check(pid > 0, "fork");
    close(channel[1]);
    const int status = wait_for(pid, watch.get(), held);
    if (room == nullptr) {
        wait_for_rest();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    const std::string said = room == nullptr ? read_whole(channel[0]) : read_file(room->shared() + "/report");
    close(channel[0]);
    [[maybe_unused]] const ssize_t written = write(report, said.data(), said.size());
    return end_of(said, status);
}

}  // namespace nodewise
