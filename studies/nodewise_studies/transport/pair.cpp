// SPDX-License-Identifier: BSD-3-Clause
// Starts the two processes of a pair, passes on what one tells the other while they meet, and gathers what they found.
// Neither is a copy of this process: some libraries abort after a fork. Where one fails or dies, both are ended.
#include <dlfcn.h>
#include <link.h>
#include <omp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <set>

#include "launch.h"
#include "side.h"

namespace transport {
namespace {

constexpr int kLongestMs = 300'000, kGraceMs = 200, kEndMs = 1000;

std::string listed(const cpu_set_t& place) {
    std::string text;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &place)) {
            text += text.empty() ? "" : ",";
            text += std::to_string(cpu);
        }
    }
    return text;
}

// Of the first two threads, as nodewise has bound them; empty where they may run anywhere.
std::array<std::string, 2> places() {
    std::array<std::string, 2> found;
    // a library's threads are bound by their process, and these sides are its threads
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment
    if (const char* asked = std::getenv("NODEWISE_BIND"); asked != nullptr) {
        const std::string text(asked);
        const std::size_t colon = text.find(':');
        found[0] = text.substr(0, colon);
        found[1] =
            colon == std::string::npos ? found[0] : text.substr(colon + 1, text.find(':', colon + 1) - colon - 1);
        return found;
    }
#pragma omp parallel num_threads(2)
    {
        cpu_set_t place;
        CPU_ZERO(&place);
        sched_getaffinity(0, sizeof place, &place);
        found.at(static_cast<std::size_t>(omp_get_thread_num())) = listed(place);
    }
    return found[0] == found[1] ? std::array<std::string, 2>{} : found;
}

std::string own_program() {
    std::array<char, PATH_MAX> path{};
    const ssize_t length = checked(readlink("/proc/self/exe", path.data(), path.size()), "/proc/self/exe");
    return {path.data(), static_cast<std::size_t>(length)};
}

std::string own_object() {
    Dl_info about{};
    if (dladdr(reinterpret_cast<const void*>(&run_pair), &about) == 0) {
        fail("the study's own file is not known");
    }
    return about.dli_fname;
}

std::string file_of(void* library) {
    link_map* map = nullptr;
    if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) {
        return "";
    }
    return map->l_name;
}

// A metric's name, which has to stay as long as the process.
const char* kept_name(const std::string& name) {
    static std::set<std::string> known;
    return known.insert(name).first->c_str();
}

struct Child {
    std::string name;
    pid_t pid;
    Fd handle;                  // readable once it has ended
    bool launcher = false;      // it has the sides as children of its own
    std::optional<int> status;  // as waitpid says
};

struct Guest {  // a side that has connected
    std::string role;
    Fd socket;
    std::optional<Figures> figures;
};

std::string ending(const Child& child) {
    const int status = child.status.value_or(0);
    if (WIFSIGNALED(status)) {
        return "the " + child.name + " was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
               sigdescr_np(WTERMSIG(status)) + ")";
    }
    return "the " + child.name + " ended with exit code " + std::to_string(WEXITSTATUS(status)) + " before it was done";
}

class Pair {
  public:
    Pair() : name_(random_name("nodewise-pair-")), listening_(listen_at(name_)) {}
    ~Pair() { end(); }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;
    const std::string& name() const { return name_; }

    void start(const std::string& name, const std::vector<std::string>& words, bool launcher) {
        std::vector<char*> argv;
        argv.reserve(words.size() + 1);
        for (const std::string& word : words) {
            argv.push_back(const_cast<char*>(word.c_str()));
        }
        argv.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        // what a library prints is no line of the sample protocol
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
        pid_t pid = 0;
        const int code = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        if (code != 0) {
            errno = code;
            fail_system("cannot start " + words[0]);
        }
        children_.push_back({name, pid, Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))), launcher, {}});
    }

    // Both sides' figures, the receiver's first. Throws where one fails or dies, once both have ended.
    std::array<Figures, 2> figures() {
        try {
            while (guests_.size() < 2 || !guests_[0].figures || !guests_[1].figures) {
                step();
            }
        } catch (const std::exception& problem) {
            fail(reason(problem.what()));
        }
        for (const Guest& guest : guests_) {
            send_packet(guest.socket.get(), About::kLeave, "");
        }
        await(kEndMs, [](const Child& child) { return !child.status; });
        const bool first = guests_[0].role == "receiver";
        return {guests_[first ? 0 : 1].figures.value_or(Figures{}), guests_[first ? 1 : 0].figures.value_or(Figures{})};
    }

  private:
    void step() {
        std::vector<pollfd> watched{{listening_.get(), POLLIN, 0}};
        for (const Guest& guest : guests_) {
            watched.push_back({guest.socket.get(), POLLIN, 0});
        }
        for (const Child& child : children_) {
            watched.push_back({child.handle.get(), POLLIN, 0});
        }
        const int ready = poll(watched.data(), watched.size(), kLongestMs);
        if (ready < 0 && errno == EINTR) {
            return;
        }
        if (checked(ready, "poll") == 0) {
            fail("nothing came to an end within " + std::to_string(kLongestMs / 1000) + " seconds");
        }
        // what a side has said counts before its end does
        for (std::size_t i = 0; i < guests_.size(); ++i) {
            if (watched[1 + i].revents != 0) {
                hear(i);
                return;
            }
        }
        if (watched[0].revents != 0) {
            let_in();
            return;
        }
        for (Child& child : children_) {
            reap(child, WNOHANG);
            if (child.status) {
                fail(ending(child));
            }
        }
    }

    void let_in() {
        Fd socket = accept_own(listening_.get());
        if (!socket.open()) {
            return;
        }
        const Packet hello = receive_packet(socket.get());
        if (hello.about != About::kHello || guests_.size() == 2 ||
            (guests_.size() == 1 && guests_[0].role == hello.body)) {
            fail("two sides are both the " + hello.body + "\nhint: the launcher and the library are of different MPIs");
        }
        guests_.push_back({hello.body, std::move(socket), {}});
        if (guests_.size() == 2) {
            for (const std::string& body : early_) {
                send_packet(guests_[1].socket.get(), About::kRelay, body);
            }
        }
    }

    void hear(std::size_t from) {
        Packet packet{About::kFailed, "the " + guests_[from].role + " ended before it was done"};
        try {
            packet = receive_packet(guests_[from].socket.get());
        } catch (const std::exception&) {
            packet.about = About::kFailed;  // it is gone, and that is what is said
        }
        if (packet.about == About::kLoses) {
            lost_.push_back(packet.body);
            return;
        }
        if (packet.about == About::kFailed) {
            fail(packet.body);
        }
        if (packet.about == About::kRelay && guests_.size() < 2) {
            early_.push_back(packet.body);
        } else if (packet.about == About::kRelay) {
            send_packet(guests_[1 - from].socket.get(), About::kRelay, packet.body);
        } else if (packet.about == About::kDone && packet.body.size() == sizeof(Figures)) {
            Figures found;
            std::memcpy(&found, packet.body.data(), sizeof found);
            guests_[from].figures = found;
        }
    }

    // One that was killed is the reason, whatever the other says of it; and not one that aborted, where both were: some
    // libraries abort a side whose other side is gone, and may do so before that one's end is complete.
    std::string reason(const std::string& said) {
        const auto aborted = [](const Child& child) {
            return child.status && WIFSIGNALED(*child.status) && WTERMSIG(*child.status) == SIGABRT;
        };
        const auto killed = [&](const Child& child) {
            return child.status && WIFSIGNALED(*child.status) && !aborted(child);
        };
        const auto ended = [](const Child& child) { return child.status.has_value(); };
        await(kGraceMs, [&](const Child&) { return std::ranges::none_of(children_, ended); });
        const bool any = std::ranges::any_of(children_, aborted);
        await(any ? kEndMs : kGraceMs, [&](const Child&) {
            return std::ranges::none_of(children_, killed) && !std::ranges::all_of(children_, ended);
        });
        auto found = std::ranges::find_if(children_, killed);
        if (found == children_.end()) {
            found = std::ranges::find_if(children_, aborted);
        }
        return found == children_.end() ? said : ending(*found);
    }

    static void reap(Child& child, int how) {
        int status = 0;
        if (!child.status && waitpid(child.pid, &status, how) == child.pid) {
            child.status = status;
        }
    }

    template <class Wanted>
    void await(int most_ms, Wanted wanted) {
        for (int waited = 0; waited < most_ms; ++waited) {
            bool any = false;
            for (Child& child : children_) {
                reap(child, WNOHANG);
                any = any || wanted(child);
            }
            if (!any) {
                return;
            }
            usleep(1000);
        }
    }

    void end() {
        for (const Child& child : children_) {
            if (!child.status && (child.launcher || guests_.size() < 2)) {
                kill(child.pid, SIGTERM);
            }
        }
        guests_.clear();  // those that have connected see that, and end
        await(kEndMs, [](const Child& child) { return !child.status; });
        for (Child& child : children_) {
            if (!child.status) {
                kill(child.pid, SIGKILL);
                reap(child, 0);
            }
        }
        for (const std::string& path : lost_) {
            unlink(path.c_str());
        }
    }

    std::string name_;
    Fd listening_;
    std::vector<Child> children_;
    std::vector<Guest> guests_;
    std::deque<std::string> early_;
    std::vector<std::string> lost_;
};

std::vector<std::string> words_of(const nw_run* run, const Contender& contender, const Pair& pair, const Shared& sums,
                                  const Task& task) {
    std::vector<std::string> words{
        own_program(), own_object(), "--helper", contender.name, "control=" + pair.name(), "sums=" + sums.path()};
    const auto found = places();
    words.push_back("send_at=" + found.at(task.backward ? 1 : 0));
    words.push_back("receive_at=" + found.at(task.backward ? 0 : 1));
    if (const std::string library = file_of(run->library); !library.empty()) {
        words.push_back("library=" + library);
    }
    for (std::size_t i = 0; i < run->knob_count; ++i) {
        words.push_back(std::string(run->knobs[i].name) + "=" + run->knobs[i].text);
    }
    // of a ladder, those of this rung
    words.push_back("ladder=");
    words.push_back("size=" + std::to_string(task.size));
    words.push_back("messages=" + std::to_string(task.messages));
    words.push_back("base=" + std::to_string(task.base));
    return words;
}

// Two fresh processes, whose sums are then at `sums`; the receiver's figures first.
std::array<Figures, 2> run_once(const nw_run* run, const Contender& contender, const Task& task, std::int64_t* sums) {
    const Shared shared(task.messages * sizeof(std::int64_t), "");
    Pair pair;
    std::vector<std::string> words = words_of(run, contender, pair, shared, task);
    // our own threads have nothing to do, and would wait where the sides work
    omp_pause_resource_all(omp_pause_hard);
    if (contender.start == Start::kByMpi) {
        const std::vector<std::string> launcher = mpi_launcher(file_of(run->library), run->library);
        words.insert(words.begin(), launcher.begin(), launcher.end());
        pair.start("launcher of ranks", words, true);
    } else {
        for (const char* role : {"receiver", "sender"}) {
            std::vector<std::string> own = words;
            own.push_back(std::string("role=") + role);
            pair.start(role, own, false);
        }
    }
    const auto found = pair.figures();
    std::memcpy(sums, shared.data(), task.messages * sizeof(std::int64_t));
    return found;
}

void report(nw_run* run, const std::vector<Task>& rungs, const std::vector<std::array<Figures, 2>>& found) {
    constexpr double kMicro = 1e6, kGiga = 1e9;
    double seconds = 0;
    double processor = 0;
    double bytes = 0;
    for (std::size_t i = 0; i < rungs.size(); ++i) {
        const auto moved = static_cast<double>(rungs[i].messages * rungs[i].size);
        seconds += found[i][0].seconds;
        processor += found[i][0].processor + found[i][1].processor;
        bytes += moved;
        if (rungs.size() > 1) {
            const std::string name = "gb_s_" + std::to_string(rungs[i].size);
            nw_report(run, kept_name(name), moved / found[i][0].seconds / kGiga);
        }
    }
    nw_report(run, "seconds", seconds);
    const Figures& receiver = found[0][0];
    if (rungs[0].kind == Class::kLatency) {
        nw_report(run, "p50_us", kMicro * receiver.p50);
        nw_report(run, "p99_us", kMicro * receiver.p99);
        nw_report(run, "p999_us", kMicro * receiver.p999);
        nw_report(run, "busy_cores", processor / receiver.elapsed);
    } else if (rungs[0].kind != Class::kToken) {
        nw_report(run, "cpu_s_per_gb", processor * kGiga / bytes);
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment
    if (std::getenv("NODEWISE_BIND") != nullptr) {
        nw_report(run, "bound", 2);
    }
}

}  // namespace

int run_pair(nw_run* run, const Contender& contender) {
    try {
        const std::vector<Task> rungs = rungs_of(task_of(run));
        auto* sums = static_cast<std::int64_t*>(nw_data(run, "sums"));
        std::vector<std::array<Figures, 2>> found;
        for (const Task& rung : rungs) {
            found.push_back(run_once(run, contender, rung, sums));
            sums += rung.messages;
        }
        report(run, rungs, found);
        return 0;
    } catch (const std::exception& problem) {
        return nw_fail(run, "%s: %s", contender.name, problem.what());
    }
}

}  // namespace transport
