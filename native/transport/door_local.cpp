// SPDX-License-Identifier: BSD-3-Clause
// shm and inproc: peers of one user on this machine, who give each other their memory over a Unix socket.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "transport/door.h"
#include "transport/error.h"

namespace nodewise::transport {

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kPatience = 1000 * kMillisecond;  // for a greeting
constexpr std::int64_t kShortestGap = 2 * kMillisecond, kLongestGap = 100 * kMillisecond;
constexpr std::size_t kMostGuests = 256;

pollfd watch(const Fd& fd) { return {.fd = fd.get(), .events = POLLIN, .revents = 0}; }

struct LocalLink final : Link {
    Fd socket, process;
    void part() override { ::shutdown(socket.get(), SHUT_RDWR); }
};

class LocalDoor final : public Door {
  public:
    // Throws where the address is taken, or there is no memory for the first peer.
    LocalDoor(const Options& options, const Bell& bell);
    ~LocalDoor() override { stop(); }
    LocalDoor(const LocalDoor&) = delete;
    LocalDoor& operator=(const LocalDoor&) = delete;
    void shut() override { stop(); }
    void forget() override;

  private:
    struct Guest {  // has connected, and not greeted yet
        Fd socket;
        std::int64_t until_ns;
    };
    using Shared = std::shared_ptr<LocalLink>;
    void stop();
    void run();
    void serve(const std::vector<pollfd>& seen);
    std::vector<pollfd> watched() const;
    void let_in();
    bool greet(Guest& guest);
    bool knock();
    bool be_greeted();
    Shared start_link(int socket);
    void finish_link(LocalLink& link, const Hello& theirs, std::vector<Fd>& descriptors);
    void join(const Shared& link);
    void refuse(int socket, const std::string& reason) const;
    bool seeks() const;
    void send_hello(int socket, const LocalLink& link) const;
    void check(const Credentials& peer) const;

    std::string socket_name_;
    bool same_process_;  // peers must be in it
    Fd stop_, listening_;
    std::vector<Guest> guests_;
    Shared calling_;  // we have greeted it, it has not
    std::int64_t next_knock_ns_ = 0, knock_gap_ns_ = kShortestGap;
    std::vector<Shared> links_;
    std::uint64_t serial_ = 0;
    std::unique_ptr<Writer> spare_;  // for the next peer
    std::thread thread_;
};

LocalDoor::LocalDoor(const Options& options, const Bell& bell)
    : Door(options, bell),
      same_process_(options.scheme == "inproc"),
      stop_(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {
    const long owner = same_process_ ? getpid() : static_cast<long>(geteuid());
    socket_name_ = "nodewise-transport/" + options.scheme + "/" + std::to_string(owner) + "/" + options.name;
    if (options_.bind) {
        listening_ = listen_at(socket_name_);
    }
    if (writes(options_.pattern)) {
        spare_ = std::make_unique<Writer>(shape());
    }
    thread_ = quiet_thread([this] { run(); });
}

void LocalDoor::stop() {
    if (thread_.joinable()) {
        eventfd_write(stop_.get(), 1);
        thread_.join();
    }
}

void LocalDoor::forget() {
    if (thread_.joinable()) {
        thread_.detach();
    }
}

void LocalDoor::run() {
    while (true) {
        std::vector<pollfd> seen = watched();
        std::int64_t wait = -1;
        const auto until = [&](std::int64_t time) {
            const std::int64_t left = std::max<std::int64_t>(0, time - now_ns());
            wait = wait < 0 ? left : std::min(wait, left);
        };
        for (const Guest& guest : guests_) {
            until(guest.until_ns);
        }
        if (seeks()) {
            until(next_knock_ns_);
        }
        const timespec most{.tv_sec = wait / 1'000'000'000, .tv_nsec = wait % 1'000'000'000};
        if (ppoll(seen.data(), seen.size(), wait < 0 ? nullptr : &most, nullptr) < 0) {
            continue;
        }
        if (seen[0].revents != 0) {
            return;
        }
        try {
            serve(seen);
        } catch (const std::exception& problem) {
            // out of descriptors or memory: those who are there go on, and new ones are tried again
            next_knock_ns_ = now_ns() + kLongestGap;
            calling_.reset();
            usleep(10'000);
        }
    }
}

bool LocalDoor::seeks() const { return !options_.bind && !calling_ && links_.empty() && !refused(); }

// In the order in which serve() looks at them.
std::vector<pollfd> LocalDoor::watched() const {
    std::vector<pollfd> all{watch(stop_), watch(listening_)};
    all.push_back(calling_ ? watch(calling_->socket) : watch(Fd()));
    for (const auto& link : links_) {
        all.push_back(watch(link->socket));
        all.push_back(watch(link->process));
    }
    for (const Guest& guest : guests_) {
        all.push_back(watch(guest.socket));
    }
    return all;
}

void LocalDoor::serve(const std::vector<pollfd>& seen) {
    std::size_t at = 3;
    bool left = false;
    for (const auto& link : links_) {
        if (seen[at].revents != 0 || seen[at + 1].revents != 0) {
            link->gone.store(true, std::memory_order_release);
            left = true;
        }
        at += 2;
    }
    if (left) {
        std::erase_if(links_, [](const auto& link) { return link->gone.load(std::memory_order_relaxed); });
        tell();
    }
    std::vector<Guest> waiting;
    for (Guest& guest : guests_) {
        const bool ready = seen[at++].revents != 0;
        const bool done = ready ? greet(guest) : now_ns() >= guest.until_ns;
        if (!done) {
            waiting.push_back(std::move(guest));
        }
    }
    guests_ = std::move(waiting);
    if (seen[1].revents != 0) {
        let_in();
    }
    if (calling_) {
        const bool answered = seen[2].revents != 0 && be_greeted();
        if (answered || now_ns() >= next_knock_ns_) {
            calling_.reset();
        }
    }
    if (seeks() && now_ns() >= next_knock_ns_) {
        const bool open = knock();
        knock_gap_ns_ = open ? kShortestGap : std::min(2 * knock_gap_ns_, kLongestGap);
        next_knock_ns_ = now_ns() + (open ? kPatience : knock_gap_ns_);
    }
}

void LocalDoor::check(const Credentials& peer) const {
    if (peer.uid != geteuid()) {
        throw Error(NWT_REFUSED, "the other side belongs to another user (process " + std::to_string(peer.pid) +
                                     ", uid " + std::to_string(peer.uid) + ")");
    }
    if (same_process_ && peer.pid != getpid()) {
        throw Error(NWT_REFUSED,
                    "inproc:// joins threads of one process; process " + std::to_string(peer.pid) + " is another");
    }
}

void LocalDoor::let_in() {
    while (guests_.size() < kMostGuests) {
        Fd socket = accept_from(listening_.get());
        if (!socket.open()) {
            return;
        }
        if (credentials_of(socket.get()).uid != geteuid()) {
            refuse(socket.get(), "the address is another user's");
            continue;
        }
        guests_.push_back({.socket = std::move(socket), .until_ns = now_ns() + kPatience});
    }
    throw Error(NWT_SYSTEM, "too many connections that do not greet");
}

// What both sides of a link have before they know each other.
LocalDoor::Shared LocalDoor::start_link(int socket) {
    auto link = std::make_shared<LocalLink>();
    link->pid = credentials_of(socket).pid;
    link->process = descriptor_of_process(link->pid);
    if (writes(options_.pattern)) {
        if (!spare_) {
            spare_ = std::make_unique<Writer>(shape());
        }
        link->out = std::move(spare_);
    }
    return link;
}

void LocalDoor::send_hello(int socket, const LocalLink& link) const {
    const Hello ours{.pattern = options_.pattern,
                     .barriers = takes_part_in_barriers(),
                     .pid = getpid(),
                     .shape = link.out ? shape() : Shape{},
                     .refusal = {}};
    std::vector<int> descriptors{bell_.fd().get(), bell_.event().get()};
    if (link.out) {
        descriptors.push_back(link.out->fd().get());
    }
    send_packet(socket, encode(ours), descriptors);
}

void LocalDoor::finish_link(LocalLink& link, const Hello& theirs, std::vector<Fd>& descriptors) {
    const bool reading = theirs.shape.slots != 0;
    check_pattern(theirs.pattern);
    if (reading != writes(theirs.pattern) || descriptors.size() != (reading ? 3U : 2U)) {
        throw Error(NWT_REFUSED, "the other side's greeting is damaged");
    }
    link.bell = std::make_unique<Bell>(descriptors[0], std::move(descriptors[1]));
    if (reading) {
        link.in = std::make_unique<Reader>(descriptors[2], theirs.shape);
    }
    link.fenced = !(theirs.barriers && takes_part_in_barriers());
    link.serial = ++serial_;
}

// Whether the guest is done with: it is a peer now, or is sent away.
bool LocalDoor::greet(Guest& guest) {
    const int socket = guest.socket.get();
    try {
        check(credentials_of(socket));
        std::optional<Packet> packet = receive_packet(socket);
        if (!packet) {
            return false;
        }
        const Hello theirs = decode(packet->bytes);
        const Shared link = start_link(socket);
        finish_link(*link, theirs, packet->descriptors);
        send_hello(socket, *link);
        link->socket = std::move(guest.socket);
        join(link);
    } catch (const Error& problem) {
        refuse(socket, problem.what());
        if (problem.status() == NWT_SYSTEM) {
            report(problem);
        }
    }
    return true;
}

void LocalDoor::refuse(int socket, const std::string& reason) const {
    try {
        send_packet(socket, encode({.pattern = options_.pattern, .barriers = false, .shape = {}, .refusal = reason}),
                    {});
    } catch (const Error&) {
        return;  // it has gone
    }
}

void LocalDoor::join(const Shared& link) {
    if (link->out) {
        link->out->forget_fd();  // both sides have mapped it
    }
    links_.push_back(link);
    arrive(link);
}

// Whether somebody was there, and has our greeting.
bool LocalDoor::knock() {
    Fd socket = connect_to(socket_name_);
    if (!socket.open()) {
        return false;
    }
    try {
        check(credentials_of(socket.get()));
        const Shared link = start_link(socket.get());
        send_hello(socket.get(), *link);
        link->socket = std::move(socket);
        calling_ = link;
    } catch (const Error& problem) {
        report(problem);
    }
    return true;
}

// Whether it has said yes or no.
bool LocalDoor::be_greeted() {
    try {
        std::optional<Packet> packet = receive_packet(calling_->socket.get());
        if (!packet) {
            return false;
        }
        const Hello theirs = decode(packet->bytes);
        if (!theirs.refusal.empty()) {
            throw Error(NWT_REFUSED, "the other side refuses: " + theirs.refusal);
        }
        finish_link(*calling_, theirs, packet->descriptors);
        join(calling_);
    } catch (const Damaged& problem) {
        report(Error(NWT_REFUSED, problem.what()));
    } catch (const Error& problem) {
        report(problem);
    }
    next_knock_ns_ = now_ns() + knock_gap_ns_;
    return true;
}

}  // namespace

std::unique_ptr<Door> open_local_door(const Options& options, const Bell& bell) {
    return std::make_unique<LocalDoor>(options, bell);
}

}  // namespace nodewise::transport
