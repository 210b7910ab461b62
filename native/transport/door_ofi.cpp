// SPDX-License-Identifier: BSD-3-Clause
#include "transport/door_ofi.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "transport/shm_names.h"

namespace nodewise::transport {

namespace {

// From which size on writing is faster than sending, as each provider was seen to be.
std::uint32_t usual_rma_from(const std::string& scheme) { return scheme == "ofi+shm" ? 8192 : 16384; }

pollfd watch(const Fd& fd, short events = POLLIN) { return {.fd = fd.get(), .events = events, .revents = 0}; }

}  // namespace

OfiDoor::OfiDoor(const Options& options, const Bell& bell) : Door(options, bell), address_(Door::address()) {
    if (options_.capacity > Relay::kMostCapacity || options_.slots > Relay::kMostSlots) {
        throw Error(NWT_INVALID,
                    "over libfabric the capacity is at most 1073741824 bytes, and there are at most 1048576 slots");
    }
    place_from_ = options_.rma_from == 0 ? usual_rma_from(options_.scheme) : options_.rma_from;
    if (place_from_ == NWT_NO_RMA) {
        place_from_ = 0;
    }
    if (local()) {
        if (options_.bind) {
            listening_ = listen_at(socket_name());
        }
        sweep_shm();
    } else {
        place_ = resolve(options_.name);
        if (options_.bind) {
            listening_ = tcp_listen(place_);
            const std::string host = options_.name.substr(0, options_.name.rfind(':'));
            address_ = options_.scheme + "://" + (host == "*" ? "0.0.0.0" : host) + ":" +
                       std::to_string(ntohs(place_.sin_port));
        }
        const sockaddr_in own = options_.bind ? place_ : own_side(place_);
        source_ = own.sin_addr.s_addr == 0 ? "" : text_of(own);
    }
    open_fabric();
    provider_ = fabric_->provider();
    thread_ = quiet_thread([this] { run(); });
}

void OfiDoor::open_fabric() {
    fabric_ = Fabric::open(options_.scheme, local() ? new_shm_name() : source_);
    if (local()) {
        held_ = hold_shm(shm_name_of(fabric_->name()));
    }
}

OfiDoor::~OfiDoor() {
    if (forgotten_) {
        // the parent's, whose thread may have been at work on them when we were forked
        (void)new (std::nothrow)
            std::shared_ptr<Fabric>(std::move(fabric_));  // NOLINT(cppcoreguidelines-owning-memory)
        for (Peers* all : {&peers_, &guests_}) {
            (void)new (std::nothrow) Peers(std::move(*all));  // NOLINT(cppcoreguidelines-owning-memory)
        }
        (void)new (std::nothrow)
            std::vector<std::unique_ptr<Peer>>(std::move(departed_));  // NOLINT(cppcoreguidelines-owning-memory)
        return;
    }
    if (thread_.joinable()) {
        stopping_ = true;
        keeper_.ring(true);
        thread_.join();
    }
    sweep_left();
    peers_.clear();
    guests_.clear();
    departed_.clear();
}

void OfiDoor::shut() {
    if (forgotten_) {
        return;  // the parent may have had the lock when we were forked
    }
    const std::scoped_lock lock(meeting_);
    shut_ = true;
}

void OfiDoor::finish() {
    finishing_ = true;
    keeper_.ring(true);
    if (thread_.joinable()) {
        thread_.join();
    }
}

void OfiDoor::forget() {
    forgotten_ = true;
    if (thread_.joinable()) {
        thread_.detach();
    }
}

void OfiDoor::run() {
    while (!stopping_) {
        try {
            if (turn()) {
                return;
            }
        } catch (const Broken&) {
            renew();
        } catch (const std::exception&) {
            // out of descriptors or memory: those who are there go on, and new ones are tried again
            next_knock_ns_ = now_ns() + kLongestGap;
            usleep(10'000);
        }
    }
}

// Whether it was the last one.
bool OfiDoor::turn() {
    const bool last = finishing_.load();
    knock();
    if (now_ns() - looked_ns_ > kLook) {
        look(0);
    }
    const bool read_some = read();
    const bool wrote_some = write();
    sweep();
    if (last && !wrote_some && take_leave()) {
        return true;
    }
    if (!read_some && !wrote_some) {
        rest();
    }
    return false;
}

// Sleeps until somebody has sent or written something.
void OfiDoor::rest() {
    keeper_.announce_on_event();
    if (write() || read() || (finishing_ && leaving_until_ns_ == 0) || stopping_ || !fabric_->may_sleep()) {
        keeper_.stay_awake();
        return;
    }
    look(std::max<std::int64_t>(0, next_moment() - now_ns()));
    keeper_.stay_awake();
}

// When to look again, whatever has come to pass until then.
std::int64_t OfiDoor::next_moment() const {
    const std::int64_t now = now_ns();
    std::int64_t next = now + kLongestSleep;
    const auto until = [&](std::int64_t time) { next = std::min(next, time); };
    for (const auto& [cookie, peer] : peers_) {
        if (!peer->waiting.empty()) {
            until(now + kMillisecond);  // the provider had no room, and does not tell when it has
        }
        if (peer->on_way != 0) {
            until(now + (10 * kMillisecond));
        }
        if (peer->ended_ns != 0) {
            until(peer->ended_ns + (peer->left ? 0 : kLast));
        }
        if (peer->parting) {
            until(std::min(peer->until_ns, now + kMillisecond));
        }
    }
    for (const auto& [cookie, guest] : guests_) {
        until(guest->until_ns);
    }
    if (!left_.empty()) {
        until(sweep_ns_);
    }
    if (!options_.bind && peers_.empty() && guests_.empty() && !refused()) {
        until(next_knock_ns_);
    }
    if (leaving_until_ns_ != 0) {
        until(leaving_until_ns_);
    }
    return next;
}

// At all sockets.
void OfiDoor::look(std::int64_t at_most_ns) {
    const pollfd fabric{.fd = fabric_->descriptor(), .events = POLLIN, .revents = 0};
    std::vector<pollfd> seen{watch(keeper_.event()), watch(listening_), fabric};
    for (const auto& [cookie, peer] : peers_) {
        seen.push_back(peer->ended_ns != 0 ? watch(Fd()) : watch(peer->socket));
        seen.push_back(peer->ended_ns != 0 ? watch(Fd()) : watch(peer->process));
    }
    for (const auto& [cookie, guest] : guests_) {
        seen.push_back(watch(guest->socket, guest->calling ? POLLOUT : POLLIN));
    }
    const timespec most{.tv_sec = at_most_ns / 1'000'000'000, .tv_nsec = at_most_ns % 1'000'000'000};
    const int count = ppoll(seen.data(), seen.size(), &most, nullptr);
    looked_ns_ = now_ns();
    if (count < 0) {
        return;
    }
    std::size_t at = 3;
    for (const auto& [cookie, peer] : peers_) {
        if ((seen[at].revents | seen[at + 1].revents) != 0) {
            peer->ended_ns = looked_ns_;  // nothing is said there after the greeting
        }
        at += 2;
    }
    std::vector<std::uint64_t> done;
    for (const auto& [cookie, guest] : guests_) {
        if (seen[at++].revents != 0 ? hear(cookie, *guest) : looked_ns_ >= guest->until_ns) {
            done.push_back(cookie);
        }
    }
    for (const std::uint64_t cookie : done) {
        guests_.erase(cookie);
        if (!options_.bind && peers_.empty()) {
            hang_up();
        }
    }
    if (seen[1].revents != 0) {
        let_in();
    }
}

bool OfiDoor::read() {
    bool some = false;
    for (int i = 0; i < kTurn; ++i) {
        if (!fabric_->read([this](Call& call, std::uint64_t bytes, int error) { ended(call, bytes, error); })) {
            break;
        }
        some = true;
    }
    return some;
}

void OfiDoor::ended(Call& call, std::uint64_t bytes, int error) {
    if (call.kind == Call::Kind::kReceive) {
        if (error != 0) {
            fabric_->receive_again(call);
        } else {
            came(call, bytes);
        }
        return;
    }
    const auto found = peers_.find(call.peer);
    if (found == peers_.end()) {
        fabric_->give_back(call);
        return;
    }
    Peer& peer = *found->second;
    const auto frame = std::ranges::find_if(peer.waiting, [&](const Frame& one) { return one.call == &call; });
    if (call.kind == Call::Kind::kWrite && error == 0 && frame != peer.waiting.end()) {
        frame->placed = {};
        frame->writing = false;
        return;
    }
    if (frame != peer.waiting.end()) {
        peer.waiting.erase(frame);
    }
    --peer.on_way;
    fabric_->give_back(call);
    if (error != 0) {
        lose(peer, "");
    }
}

// A frame: it waits for those that were sent before it.
void OfiDoor::came(Call& call, std::uint64_t bytes) {
    Head head;
    std::memcpy(&head, call.frame, sizeof head);
    const auto met = peers_.find(head.cookie);
    const auto found = met == peers_.end() ? guests_.find(head.cookie) : met;
    const bool known = bytes >= sizeof head && found != (met == peers_.end() ? guests_.end() : peers_.end());
    if (!known || found->second->gone) {
        fabric_->receive_again(call);  // of somebody who has gone, or of nobody
        return;
    }
    Peer& peer = *found->second;
    if (head.number < peer.expected || !peer.early.try_emplace(head.number, Early{&call, bytes}).second) {
        fabric_->receive_again(call);
        lose(peer, "it has sent a frame twice");
        return;
    }
    if (peer.relay) {
        deliver_in_turn(head.cookie, peer);
    }
}

void OfiDoor::deliver_in_turn(std::uint64_t cookie, Peer& peer) {
    for (auto next = peer.early.begin(); next != peer.early.end() && next->first == peer.expected && !peer.gone;
         next = peer.early.begin()) {
        const Early frame = next->second;
        peer.early.erase(next);
        ++peer.expected;
        peer.waits = false;
        try {
            deliver(cookie, peer, {frame.call->frame + sizeof(Head), frame.bytes - sizeof(Head)});
        } catch (const Damaged& problem) {
            lose(peer, problem.what());
        }
        fabric_->receive_again(*frame.call);
    }
    wake(peer);
}

void OfiDoor::deliver(std::uint64_t cookie, Peer& peer, std::span<const std::byte> frame) {
    if (frame.empty()) {
        lose(peer, "it has ended the connection");
        return;
    }
    if (frame.size() == 1) {
        if (frame[0] == static_cast<std::byte>(Word::kFarewell)) {
            say(cookie, peer, Word::kHeard);
            peer.left = true;
        } else if (frame[0] == static_cast<std::byte>(Word::kHeard)) {
            peer.heard = true;
        }
        return;
    }
    if (frame.size() == sizeof(Offer)) {
        Offer offer;
        std::memcpy(&offer, frame.data(), sizeof offer);
        if (offer.word != static_cast<std::uint64_t>(Word::kOffer)) {
            throw Damaged("it has sent what is no frame");
        }
        accept(peer, offer);
        return;
    }
    peer.relay->accept(frame);
    bell_.ring(true);
}

// All that endpoints have written; whether there was something.
bool OfiDoor::write() {
    bool some = false;
    for (const auto& [cookie, peer] : peers_) {
        some = write_to(cookie, *peer) || some;
    }
    return some;
}

bool OfiDoor::write_to(std::uint64_t cookie, Peer& peer) {
    bool some = begin(peer);
    const auto room = [&](std::size_t size) { return new_frame(cookie, peer, size); };
    try {
        while (!peer.gone && !peer.parting && !peer.left && peer.on_way < kOnWay && peer.relay->next_frame(room)) {
            peer.waiting.back().placed = peer.relay->placed();
            some = begin(peer) || some;
        }
    } catch (const Damaged& problem) {
        lose(peer, problem.what());
    }
    return some;
}

// What is waiting, in its order: whether anything could be begun.
bool OfiDoor::begin(Peer& peer) {
    bool some = false;
    if (peer.waits) {
        return false;
    }
    try {
        for (Frame& frame : peer.waiting) {
            if (peer.gone || (frame.placed.bytes != 0 && !frame.writing && !begin_writing(peer, frame))) {
                break;
            }
        }
        while (!peer.gone && !peer.waiting.empty() && peer.waiting.front().placed.bytes == 0 &&
               fabric_->send(*peer.waiting.front().call, peer.there, peer.guard ? &*peer.guard : nullptr)) {
            peer.waiting.pop_front();
            some = true;
        }
    } catch (const Damaged& problem) {
        lose(peer, problem.what());
    }
    if (some || !peer.waiting.empty()) {
        wake(peer);
    }
    return some;
}

bool OfiDoor::begin_writing(Peer& peer, Frame& frame) {
    frame.writing = fabric_->write(*frame.call, peer.there, peer.guard ? &*peer.guard : nullptr,
                                   {.from = peer.relay->ours().data() + frame.placed.at,
                                    .bytes = frame.placed.bytes,
                                    .described = peer.source.described(),
                                    .address = peer.address + frame.placed.at,
                                    .key = peer.key});
    return frame.writing;
}

// Of so many bytes, behind all that wait.
std::byte* OfiDoor::new_frame(std::uint64_t cookie, Peer& peer, std::size_t bytes) {
    Call& call = fabric_->take();
    call.peer = cookie;
    call.size = sizeof(Head) + bytes;
    const Head head{.cookie = peer.cookie, .number = peer.sent++};
    std::memcpy(call.frame, &head, sizeof head);
    peer.waiting.push_back({.call = &call, .placed = {}});
    ++peer.on_way;
    return call.frame + sizeof head;
}

// The thread over there, where no descriptor of the provider does it.
void OfiDoor::wake(const Peer& peer) {
    if (peer.keeper) {
        peer.keeper->ring(peer.fenced);
    }
}

std::unique_ptr<Door> open_ofi_door(const Options& options, const Bell& bell) {
    return std::make_unique<OfiDoor>(options, bell);
}

}  // namespace nodewise::transport
