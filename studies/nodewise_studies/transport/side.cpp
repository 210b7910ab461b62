// SPDX-License-Identifier: BSD-3-Clause
#include "side.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace transport {
namespace {

std::string word(const std::map<std::string, std::string>& words, const std::string& name) {
    const auto found = words.find(name);
    return found == words.end() ? std::string() : found->second;
}

// Of a launcher of ranks: Open MPI's, MPICH's and what keeps to its interface. Empty where there is none.
std::string rank_here() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
        // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment
        if (const char* rank = std::getenv(name); rank != nullptr) {
            return rank;
        }
    }
    return "";
}

void pin(const std::string& processors) {
    cpu_set_t place;
    CPU_ZERO(&place);
    std::istringstream all(processors);
    for (std::string one; std::getline(all, one, ',');) {
        CPU_SET(std::strtoul(one.c_str(), nullptr, 10), &place);
    }
    if (CPU_COUNT(&place) > 0) {
        checked(sched_setaffinity(0, sizeof place, &place), "this side cannot take its place");
    }
}

}  // namespace

Side::Side(const std::map<std::string, std::string>& words)
    : task(read_task([&](const char* name) {
          const auto found = words.find(name);
          return found == words.end() ? nullptr : found->second.c_str();
      })) {
    std::string role = word(words, "role");
    if (role.empty()) {
        role = rank_here() == "0" ? "receiver" : "sender";
    }
    receiver = role == "receiver";
    pin(word(words, receiver ? "receive_at" : "send_at"));
    signal(SIGPIPE, SIG_IGN);
    control_ = connect_to(word(words, "control"));
    stop_ = Fd(checked(eventfd(0, EFD_CLOEXEC), "eventfd"));
    watcher_ = std::thread([this] { watch(); });
    send_packet(control_.get(), About::kHello, role);
    if (const std::string library = word(words, "library"); !library.empty()) {
        library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
        if (library_ == nullptr) {
            give_up(std::string("its library cannot be loaded: ") + dlerror());  // NOLINT: one thread
            fail("no library");
        }
    }
    try {
        const std::uint64_t bytes = receiver ? task.messages * sizeof(std::int64_t) : 0;
        if (bytes > 0) {
            sums_ = std::make_unique<Shared>(bytes, word(words, "sums"));
        }
    } catch (const std::exception& problem) {
        give_up(problem.what());
        throw;
    }
}

Side::~Side() {
    const std::uint64_t one = 1;
    if (write(stop_.get(), &one, sizeof one) == sizeof one) {
        watcher_.join();
    } else {
        watcher_.detach();
    }
    for (const std::string& path : lost_) {
        unlink(path.c_str());
    }
}

std::string Side::hear() const {
    const Packet packet = receive_packet(control_.get());
    if (packet.about != About::kRelay) {
        fail("the other side of the pair is of another version");
    }
    return packet.body;
}

void Side::loses(const std::string& path) {
    send_packet(control_.get(), About::kLoses, path);
    const std::scoped_lock lock(mutex_);
    lost_.push_back(path);
}

void Side::leave(const std::function<void()>& progress) {
    send_packet(control_.get(), About::kDone, {reinterpret_cast<const char*>(&figures), sizeof figures});
    pollfd coming{control_.get(), POLLIN, 0};
    while (progress && poll(&coming, 1, 0) == 0) {
        progress();
    }
    receive_packet(control_.get());
}

void Side::give_up(const std::string& reason) const {
    constexpr std::size_t kMost = 400;
    send_packet(control_.get(), About::kFailed, reason.substr(0, kMost));
}

void Side::watch() {
    std::array<pollfd, 2> ends{{{control_.get(), 0, 0}, {stop_.get(), POLLIN, 0}}};
    while (poll(ends.data(), ends.size(), -1) < 0 && errno == EINTR) {
    }
    if (ends[1].revents == 0) {
        const std::scoped_lock lock(mutex_);
        for (const std::string& path : lost_) {
            unlink(path.c_str());
        }
        constexpr int kLeftAlone = 3;
        _exit(kLeftAlone);
    }
}

}  // namespace transport

// In a process that pair.cpp has started: NAME key=value …
extern "C" int nodewise_helper(int count, char** words);
int nodewise_helper(int count, char** words) {
    using namespace transport;
    const Contender* contender = count > 0 ? find_contender(words[0]) : nullptr;
    if (contender == nullptr) {
        std::fprintf(stderr, "nodewise-worker: no such contender\n");
        return 2;
    }
    std::map<std::string, std::string> given;
    for (int i = 1; i < count; ++i) {
        const std::string one(words[i]);
        const std::size_t sign = one.find('=');
        given[one.substr(0, sign)] = sign == std::string::npos ? "" : one.substr(sign + 1);
    }
    try {
        Side side(given);
        try {
            contender->part(side);
            return 0;
        } catch (const std::exception& problem) {
            side.give_up(problem.what());
            return 1;
        }
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "%s: %s\n", words[0], problem.what());
        return 1;
    }
}
