// SPDX-License-Identifier: BSD-3-Clause
#include "transport/door.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "transport/error.h"

namespace nodewise::transport {

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kPatience = 1000 * kMillisecond;  // for a greeting
constexpr std::int64_t kShortestGap = 2 * kMillisecond, kLongestGap = 100 * kMillisecond;
constexpr std::size_t kMostGuests = 256;

pollfd watch(const Fd& fd) { return {.fd = fd.get(), .events = POLLIN, .revents = 0}; }

}  // namespace

Door::Door(Plan plan, const Bell& bell)
    : plan_(std::move(plan)), bell_(bell), stop_(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {
    if (plan_.bind) {
        listening_ = listen_at(plan_.name);
    }
    if (writes(plan_.pattern)) {
        spare_ = std::make_unique<Writer>(plan_.shape);
    }
    knock_gap_ns_ = kShortestGap;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's own threads
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& problem) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        fail_system("no thread for an endpoint", problem.code().value());
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Door::~Door() { stop(); }

void Door::stop() {
    if (thread_.joinable()) {
        eventfd_write(stop_.get(), 1);
        thread_.join();
    }
}

void Door::forget() {
    if (thread_.joinable()) {
        thread_.detach();
    }
}

std::vector<std::shared_ptr<Link>> Door::take() {
    const std::scoped_lock lock(mutex_);
    if (problem_) {
        const Error problem = *problem_;
        if (problem.status() != NWT_REFUSED) {
            problem_.reset();
        }
        throw problem;
    }
    news_.store(false, std::memory_order_relaxed);
    return std::exchange(arrived_, {});
}

std::vector<std::shared_ptr<Link>> Door::arrivals() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(arrived_, {});
}

void Door::run() {
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

bool Door::seeks() const { return !plan_.bind && !calling_ && links_.empty() && !refused_; }

// In the order in which serve() looks at them.
std::vector<pollfd> Door::watched() const {
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

void Door::serve(const std::vector<pollfd>& seen) {
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

void Door::check(const Credentials& peer) const {
    if (peer.uid != geteuid()) {
        throw Error(NWT_REFUSED, "the other side belongs to another user (process " + std::to_string(peer.pid) +
                                     ", uid " + std::to_string(peer.uid) + ")");
    }
    if (plan_.same_process && peer.pid != getpid()) {
        throw Error(NWT_REFUSED,
                    "inproc:// joins threads of one process; process " + std::to_string(peer.pid) + " is another");
    }
}

void Door::let_in() {
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
std::shared_ptr<Link> Door::start_link(int socket) {
    auto link = std::make_shared<Link>();
    link->pid = credentials_of(socket).pid;
    link->process = descriptor_of_process(link->pid);
    if (writes(plan_.pattern)) {
        if (!spare_) {
            spare_ = std::make_unique<Writer>(plan_.shape);
        }
        link->out = std::move(spare_);
    }
    return link;
}

void Door::send_hello(int socket, const Link& link) const {
    const Hello ours{.pattern = plan_.pattern,
                     .barriers = takes_part_in_barriers(),
                     .shape = link.out ? plan_.shape : Shape{},
                     .refusal = {}};
    std::vector<int> descriptors{bell_.fd().get()};
    if (link.out) {
        descriptors.push_back(link.out->fd().get());
    }
    send_packet(socket, encode(ours), descriptors);
}

void Door::finish_link(Link& link, const Hello& theirs, const std::vector<Fd>& descriptors) {
    const bool reading = theirs.shape.slots != 0;
    if (!fits(plan_.pattern, theirs.pattern)) {
        throw Error(NWT_REFUSED, std::string("a ") + name_of(plan_.pattern) + " endpoint does not fit a " +
                                     name_of(theirs.pattern) + " endpoint");
    }
    if (reading != writes(theirs.pattern) || descriptors.size() != (reading ? 2U : 1U)) {
        throw Error(NWT_REFUSED, "the other side's greeting is damaged");
    }
    link.bell = std::make_unique<Bell>(descriptors[0]);
    if (reading) {
        link.in = std::make_unique<Reader>(descriptors[1], theirs.shape);
    }
    link.fenced = !(theirs.barriers && takes_part_in_barriers());
    link.serial = ++serial_;
}

// Whether the guest is done with: it is a peer now, or is sent away.
bool Door::greet(Guest& guest) {
    const int socket = guest.socket.get();
    try {
        check(credentials_of(socket));
        std::optional<Packet> packet = receive_packet(socket);
        if (!packet) {
            return false;
        }
        const Hello theirs = decode(packet->bytes);
        const std::shared_ptr<Link> link = start_link(socket);
        finish_link(*link, theirs, packet->descriptors);
        send_hello(socket, *link);
        link->socket = std::move(guest.socket);
        arrive(link);
    } catch (const Error& problem) {
        refuse(socket, problem.what());
        if (problem.status() == NWT_SYSTEM) {
            report(problem);
        }
    }
    return true;
}

void Door::refuse(int socket, const std::string& reason) const {
    try {
        send_packet(socket, encode({.pattern = plan_.pattern, .barriers = false, .shape = {}, .refusal = reason}), {});
    } catch (const Error&) {
        return;  // it has gone
    }
}

void Door::arrive(const std::shared_ptr<Link>& link) {
    if (link->out) {
        link->out->forget_fd();  // both sides have mapped it
    }
    links_.push_back(link);
    {
        const std::scoped_lock lock(mutex_);
        arrived_.push_back(link);
    }
    tell();
}

// Whether somebody was there, and has our greeting.
bool Door::knock() {
    Fd socket = connect_to(plan_.name);
    if (!socket.open()) {
        return false;
    }
    try {
        check(credentials_of(socket.get()));
        const std::shared_ptr<Link> link = start_link(socket.get());
        send_hello(socket.get(), *link);
        link->socket = std::move(socket);
        calling_ = link;
    } catch (const Error& problem) {
        report(problem);
    }
    return true;
}

// Whether it has said yes or no.
bool Door::be_greeted() {
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
        arrive(calling_);
    } catch (const Damaged& problem) {
        report(Error(NWT_REFUSED, problem.what()));
    } catch (const Error& problem) {
        report(problem);
    }
    next_knock_ns_ = now_ns() + knock_gap_ns_;
    return true;
}

// A refusal will be so the next time, too: it is the endpoint's answer from now on.
void Door::report(const Error& problem) {
    if (problem.status() != NWT_REFUSED && problem.status() != NWT_SYSTEM) {
        return;  // it has gone: it is tried again
    }
    refused_ = refused_ || problem.status() == NWT_REFUSED;
    {
        const std::scoped_lock lock(mutex_);
        problem_ = problem;
    }
    tell();
}

}  // namespace nodewise::transport
