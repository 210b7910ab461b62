// SPDX-License-Identifier: BSD-3-Clause
// Who comes to a door of ofi+…, and who goes: greetings, losses, and connecting again.
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "transport/door_ofi.h"
#include "transport/shm_names.h"

namespace nodewise::transport {

namespace {

std::uint64_t random_number() {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) {
        fail_system("random numbers");
    }
    return number;
}

// Whether the kernel lets us copy between that process and ours, which is what shm writes by.
bool may_reach(pid_t pid, std::uint64_t address) {
    std::byte one{};
    const iovec here{.iov_base = &one, .iov_len = 1};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it is one over there
    const iovec there{.iov_base = reinterpret_cast<void*>(address), .iov_len = 1};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == 1;
}

}  // namespace

std::string OfiDoor::socket_name() const {
    return "nodewise-transport/" + options_.scheme + "/" + std::to_string(geteuid()) + "/" + options_.name;
}

void OfiDoor::check(const Credentials& peer) const {
    if (peer.uid != geteuid()) {
        throw Error(NWT_REFUSED, "the other side belongs to another user (process " + std::to_string(peer.pid) +
                                     ", uid " + std::to_string(peer.uid) + ")");
    }
}

void OfiDoor::let_in() {
    while (guests_.size() < kMostGuests) {
        Fd socket = local() ? accept_from(listening_.get()) : tcp_accept(listening_.get());
        if (!socket.open()) {
            return;
        }
        auto guest = std::make_unique<Peer>();
        guest->socket = std::move(socket);
        guest->until_ns = now_ns() + kPatience;
        guests_.emplace(random_number(), std::move(guest));
    }
    throw Error(NWT_SYSTEM, "too many connections that do not greet");
}

void OfiDoor::knock() {
    if (options_.bind || !peers_.empty() || !guests_.empty() || refused() || now_ns() < next_knock_ns_) {
        return;
    }
    {
        // whoever has parted connects no more: it would be lost a second time
        const std::scoped_lock lock(meeting_);
        if (shut_) {
            next_knock_ns_ = now_ns() + kLongestGap;
            return;
        }
    }
    Fd socket = local() ? connect_to(socket_name()) : tcp_call(place_);
    if (!socket.open()) {
        hang_up();
        return;
    }
    auto called = std::make_unique<Peer>();
    called->socket = std::move(socket);
    called->until_ns = now_ns() + kPatience;
    called->calling = true;
    guests_.emplace(random_number(), std::move(called));
}

// The next one to be called is another.
void OfiDoor::hang_up() {
    next_knock_ns_ = now_ns() + knock_gap_ns_;
    knock_gap_ns_ = std::min(2 * knock_gap_ns_, kLongestGap);
}

// From a guest, or from who was called: whether we are done with it. Who is met is a peer by then.
bool OfiDoor::hear(std::uint64_t cookie, Peer& peer) {
    try {
        if (local()) {
            check(credentials_of(peer.socket.get()));
        }
        if (peer.calling) {
            if (!local() && !tcp_called(peer.socket.get())) {
                return true;
            }
            peer.calling = false;
            greet(cookie, peer, "");
            return false;
        }
        std::optional<Packet> packet;
        try {
            packet = receive_packet(peer.socket.get());
        } catch (const Error&) {
            return true;  // it has gone
        }
        if (!packet) {
            return false;
        }
        peer.told.insert(peer.told.end(), packet->bytes.begin(), packet->bytes.end());
        std::ranges::move(packet->descriptors, std::back_inserter(peer.descriptors));
        const std::optional<Card> theirs = decode_card(peer.told);
        if (!theirs) {
            return false;
        }
        meet(cookie, peer, *theirs);
    } catch (const Error& problem) {
        const bool damaged = problem.status() == NWT_PEER_LOST;
        if (options_.bind) {
            refuse(cookie, peer, problem.what());
            if (problem.status() == NWT_SYSTEM) {
                report(problem);
            }
        } else {
            report(damaged ? Error(NWT_REFUSED, problem.what()) : problem);
        }
    }
    return true;
}

void OfiDoor::meet(std::uint64_t cookie, Peer& guest, const Card& theirs) {
    if (theirs.hello.refusal.empty()) {
        check_pattern(theirs.hello.pattern);
    }
    if (peers_.size() >= (local() ? kMostShmPeers : kMostPeers)) {
        throw Error(NWT_REFUSED, "it has so many peers already that it takes no more");
    }
    const std::string place = local() ? "" : text_of(tcp_other_side(guest.socket.get()));
    guest.relay = Relay::meet(theirs.hello, place, writes(options_.pattern) ? shape() : Shape{}, keeper_);
    if (theirs.provider != fabric_->provider()) {
        throw Error(NWT_REFUSED, "the other side uses libfabric's provider " + theirs.provider + ", this one " +
                                     fabric_->provider());
    }
    guest.there = fabric_->add(name_of_end(guest, theirs));
    guest.cookie = theirs.cookie;
    guest.link().serial = ++serial_;
    if (local()) {
        const Credentials who = credentials_of(guest.socket.get());
        guest.link().pid = who.pid;
        guest.process = descriptor_of_process(who.pid);
        if (guest.descriptors.size() != 3) {
            throw Error(NWT_REFUSED, "the other side's greeting is damaged");
        }
        guest.keeper = std::make_unique<Bell>(guest.descriptors[0], std::move(guest.descriptors[1]));
        guest.fenced = !(theirs.hello.barriers && takes_part_in_barriers());
        guest.guard.emplace(guest.descriptors[2]);
        guest.descriptors.clear();
    }
    limit(guest, 0);
    const std::scoped_lock lock(meeting_);
    if (shut_) {
        return;
    }
    if (options_.bind) {
        greet(cookie, guest, "");
        guest.waits = true;
    }
    Peer& peer = *peers_.emplace(cookie, std::move(guests_.at(cookie))).first->second;
    knock_gap_ns_ = kShortestGap;
    arrive(peer.relay->link());
    if (!options_.bind) {
        say(cookie, peer, Word::kHere);
    }
    offer(cookie, peer);
    deliver_in_turn(cookie, peer);
}

// What the provider knows the other side by. Of TCP the machine is who is at the other end of the socket, whatever it
// says.
std::vector<std::byte> OfiDoor::name_of_end(Peer& peer, const Card& theirs) const {
    std::vector<std::byte> name = theirs.name;
    if (local()) {
        peer.shm_name = shm_name_of(name);
        peer.kept = Fabric::find(name);
        return name;
    }
    sockaddr_in end{};
    if (name.size() != sizeof end) {
        throw Error(NWT_REFUSED, "the other side's greeting is damaged");
    }
    std::memcpy(&end, name.data(), sizeof end);
    end.sin_family = AF_INET;
    end.sin_addr = tcp_other_side(peer.socket.get()).sin_addr;
    std::memcpy(name.data(), &end, sizeof end);
    return name;
}

void OfiDoor::greet(std::uint64_t cookie, const Peer& peer, const std::string& refusal) const {
    const bool speaks = refusal.empty() && writes(options_.pattern);
    const Card ours{.hello = {.pattern = options_.pattern,
                              .barriers = takes_part_in_barriers(),
                              .pid = getpid(),
                              .shape = speaks ? shape() : Shape{},
                              .refusal = refusal},
                    .provider = fabric_->provider(),
                    .cookie = cookie,
                    .name = fabric_->name()};
    std::vector<int> descriptors;
    if (local() && refusal.empty()) {
        descriptors = {keeper_.fd().get(), keeper_.event().get(), fabric_->guard()->fd().get()};
    }
    send_packet(peer.socket.get(), encode(ours), descriptors);
}

void OfiDoor::refuse(std::uint64_t cookie, const Peer& peer, const std::string& reason) const {
    try {
        greet(cookie, peer, reason);
    } catch (const Error&) {
        return;  // it has gone
    }
}

// Says where the other side may write what it sends.
void OfiDoor::offer(std::uint64_t cookie, Peer& peer) {
    const std::span<std::byte> theirs = peer.relay->theirs();
    if (theirs.empty()) {
        return;
    }
    peer.landing = fabric_->share(theirs.data(), theirs.size(), true);
    peer.relay->allow_placing();
    const Offer offered{
        .word = static_cast<std::uint64_t>(Word::kOffer), .address = peer.landing.address, .key = peer.landing.key};
    std::memcpy(new_frame(cookie, peer, sizeof offered), &offered, sizeof offered);
}

void OfiDoor::accept(Peer& peer, const Offer& offered) {
    const std::span<std::byte> ours = peer.relay->ours();
    if (ours.empty() || place_from_ == 0 || (local() && !may_reach(peer.link().pid, offered.address))) {
        return;
    }
    if (fabric_->wants_local()) {
        peer.source = fabric_->share(ours.data(), ours.size(), false);
    }
    peer.address = offered.address;
    peer.key = offered.key;
    limit(peer, place_from_);
}

void OfiDoor::limit(Peer& peer, std::uint64_t place_from) const {
    peer.relay->limit(local() ? kMostInShmFrame : kMostInFrame,
                      local() ? kMostDescriptorsInShmFrame : kMostDescriptorsInFrame, place_from);
}

void OfiDoor::say(std::uint64_t cookie, Peer& peer, Word word) {
    *new_frame(cookie, peer, 1) = static_cast<std::byte>(word);
    begin(peer);
}

void OfiDoor::lose(Peer& peer, const std::string& why) {
    if (peer.gone) {
        return;
    }
    peer.gone = true;
    if (!peer.relay) {
        return;
    }
    peer.link().why = why;
    peer.link().gone.store(true, std::memory_order_release);
    tell();
}

// Those who are gone, and those that the endpoint has parted from, whom it is told by an empty frame.
void OfiDoor::sweep() {
    std::vector<std::uint64_t> left;
    for (const auto& [cookie, peer] : peers_) {
        if (!peer->gone && !peer->parting && peer->link().parted.load(std::memory_order_acquire)) {
            // what was read between the last frame and parting is confirmed by one more
            write_to(cookie, *peer);
            new_frame(cookie, *peer, 0);
            peer->parting = true;
            peer->until_ns = now_ns() + kParting;
            begin(*peer);
        }
        if (peer->ended_ns != 0 && (peer->left || now_ns() >= peer->ended_ns + kLast)) {
            lose(*peer, "");
        }
        if (peer->parting && (peer->on_way == 0 || now_ns() >= peer->until_ns)) {
            peer->gone = true;
        }
        if (peer->gone) {
            left.push_back(cookie);
        }
    }
    for (const std::uint64_t cookie : left) {
        dismiss(peers_.find(cookie));
    }
    std::erase_if(departed_, [](const auto& peer) { return now_ns() >= peer->until_ns; });
    if (!left_.empty() && now_ns() >= sweep_ns_) {
        sweep_left();
    }
    if (!left.empty() && !options_.bind) {
        hang_up();
    }
}

// Nothing that it writes arrives any more; what is still written to it has its memory for a while.
void OfiDoor::dismiss(Peers::iterator at) {
    std::unique_ptr<Peer> peer = std::move(at->second);
    peers_.erase(at);
    peer->landing.memory.reset();
    fabric_->remove(peer->there);
    peer->kept.reset();
    for (const auto& [number, frame] : peer->early) {
        fabric_->receive_again(*frame.call);
    }
    for (const Frame& frame : peer->waiting) {
        if (!frame.writing) {
            fabric_->give_back(*frame.call);
        }
    }
    peer->early.clear();
    peer->waiting.clear();
    peer->socket.reset();
    left_by(*peer);
    sweep_left();
    peer->until_ns = now_ns() + kQuiet;
    departed_.push_back(std::move(peer));
}

// What it has in /dev/shm is nobody's where its process was killed.
void OfiDoor::left_by(const Peer& peer) {
    if (!peer.shm_name.empty()) {
        left_.push_back({.name = peer.shm_name, .until_ns = now_ns() + kQuiet});
    }
}

void OfiDoor::sweep_left() {
    std::erase_if(left_, [](const Left& one) { return sweep_shm(one.name) || now_ns() >= one.until_ns; });
    sweep_ns_ = now_ns() + kSweep;
}

// Another end in place of one whose memory is of no use any more. Who was there is lost, and may come again.
void OfiDoor::renew() {
    const Broken problem;
    for (const auto& [cookie, peer] : peers_) {
        lose(*peer, problem.what());
        left_by(*peer);
    }
    peers_.clear();
    guests_.clear();
    departed_.clear();
    fabric_.reset();
    held_.reset();
    try {
        open_fabric();
    } catch (const Error& error) {
        report(Error(NWT_REFUSED, error.what()));
        stopping_ = true;
    }
    sweep_left();
    hang_up();
}

// Whether all who are here have what they were sent, and we may close.
bool OfiDoor::take_leave() {
    if (leaving_until_ns_ == 0) {
        leaving_until_ns_ = now_ns() + kFarewell;
        for (const auto& [cookie, peer] : peers_) {
            if (!peer->left) {
                say(cookie, *peer, Word::kFarewell);
            }
        }
    }
    return now_ns() >= leaving_until_ns_ || std::ranges::all_of(peers_, [](const auto& one) {
               const Peer& peer = *one.second;
               return ((peer.heard || peer.left) && peer.on_way == 0) || peer.gone;
           });
}

}  // namespace nodewise::transport
