// SPDX-License-Identifier: BSD-3-Clause
// Who comes to a door of tcp or ipc, and who goes: greetings, losses, and connecting again.
#include <unistd.h>

#include "transport/door_zeromq.h"

namespace nodewise::transport {

void ZeromqDoor::happened(int event, int fd) {
    constexpr int kFailed = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                            ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_CLOSED;
    if (options_.bind) {
        if (event == ZMQ_EVENT_DISCONNECTED) {
            for (Peer& peer : peers_) {
                peer.ended = peer.ended || peer.fd == fd;
            }
            ended_.insert(fd);
        } else if (event == ZMQ_EVENT_ACCEPTED) {
            ended_.erase(fd);
        }
    } else if (event == ZMQ_EVENT_DISCONNECTED || (event & kFailed) != 0) {
        cut_ = true;
    }
}

std::unique_ptr<Relay> ZeromqDoor::make_relay(const Hello& theirs, const std::string& place) {
    if (theirs.refusal.empty()) {
        check_pattern(theirs.pattern);
    }
    if (peers_.size() >= kMostPeers) {
        throw Error(NWT_REFUSED, "it has 4096 peers, and has no more");
    }
    auto relay = Relay::meet(theirs, place, writes(options_.pattern) ? shape() : Shape{}, keeper_);
    relay->link()->serial = ++serial_;
    return relay;
}

// Who has not greeted us yet.
void ZeromqDoor::meet(const std::string& id, int fd, std::span<const std::byte> frame, const std::string& place) {
    read_monitor();  // so that what is known of this number is of this connection, not of one that had it before
    if (options_.bind && ended_.contains(fd)) {
        return;  // it has gone already
    }
    calling_until_ns_ = 0;
    try {
        std::unique_ptr<Relay> relay = make_relay(decode(frame), place);
        const std::shared_ptr<RemoteLink> link = relay->link();
        const std::scoped_lock lock(meeting_);
        if (shut_) {
            return;
        }
        if (options_.bind) {
            greet(id, writes(options_.pattern) ? shape() : Shape{}, "");
        }
        peers_.push_back({.relay = std::move(relay), .id = id, .fd = options_.bind ? fd : -1});
        knock_gap_ns_ = kShortestGap;
        arrive(link);
    } catch (const Error& problem) {
        if (options_.bind) {
            greet(id, {}, problem.what());
            if (problem.status() == NWT_SYSTEM) {
                report(problem);
            }
        } else {
            report(problem.status() == NWT_PEER_LOST ? Error(NWT_REFUSED, problem.what()) : problem);
            hang_up();
        }
    }
}

void ZeromqDoor::greet(const std::string& id, Shape shape, const std::string& refusal) {
    const std::vector<std::byte> packet =
        encode({.pattern = options_.pattern, .barriers = false, .pid = getpid(), .shape = shape, .refusal = refusal});
    Message frame(packet.size());
    std::memcpy(frame.data(), packet.data(), packet.size());
    send(id, frame);
}

// Whether it is on its way.
bool ZeromqDoor::send(const std::string& id, Message& frame) {
    if (options_.bind && zmq_send(socket_->get(), id.data(), id.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
        return false;
    }
    return zmq_msg_send(frame.get(), socket_->get(), ZMQ_DONTWAIT) >= 0;
}

void ZeromqDoor::lose(Peer& peer, const std::string& why) {
    if (peer.gone) {
        return;
    }
    peer.gone = true;
    peer.link().why = why;
    peer.link().gone.store(true, std::memory_order_release);
    tell();
}

// Those who are gone, and those that the endpoint has parted from, whom it is told by an empty frame.
void ZeromqDoor::sweep() {
    bool left = false;
    for (Peer& peer : peers_) {
        if (!peer.gone && peer.link().parted.load(std::memory_order_acquire)) {
            // what was read between the last frame and parting is confirmed by one more
            write_to(peer);
            Message empty;
            send(peer.id, empty);
            peer.gone = true;
        }
        left = left || peer.gone;
    }
    if (!left) {
        return;
    }
    std::erase_if(peers_, [](const Peer& peer) { return peer.gone; });
    if (!options_.bind) {
        hang_up();
    }
}

void ZeromqDoor::say(Peer& peer, Word word) {
    Message frame(1);
    *frame.data() = static_cast<std::byte>(word);
    if (!send(peer.id, frame)) {
        lose(peer, "");
    }
}

// Whether all who are here have what they were sent, and we may close. ZeroMQ's linger does not see to that: what a
// connection has taken out of its queue and not yet written is lost when it closes.
bool ZeromqDoor::take_leave() {
    if (leaving_until_ns_ == 0) {
        leaving_until_ns_ = now_ns() + kFarewell;
        for (Peer& peer : peers_) {
            say(peer, Word::kFarewell);
        }
    }
    return now_ns() >= leaving_until_ns_ ||
           std::ranges::all_of(peers_, [](const Peer& peer) { return peer.heard || peer.gone; });
}

// Ends a DEALER; the next one is another.
void ZeromqDoor::hang_up() {
    if (socket_) {
        socket_->set(ZMQ_LINGER, 100);
        socket_.reset();
    }
    calling_until_ns_ = 0;
    cut_ = false;
    next_knock_ns_ = now_ns() + knock_gap_ns_;
    knock_gap_ns_ = std::min(2 * knock_gap_ns_, kLongestGap);
}

void ZeromqDoor::knock() {
    if (options_.bind || !peers_.empty() || refused()) {
        return;
    }
    {
        // whoever has parted connects no more: it would be lost a second time
        const std::scoped_lock lock(meeting_);
        if (shut_) {
            return;
        }
    }
    const std::int64_t now = now_ns();
    if (calling_until_ns_ != 0) {
        if (now >= calling_until_ns_) {
            hang_up();
        }
        return;
    }
    if (now < next_knock_ns_) {
        return;
    }
    try {
        if (!somebody_there()) {
            hang_up();
            return;
        }
        socket_ = std::make_unique<Socket>(context_, ZMQ_DEALER, options_.scheme);
        if (zmq_connect(socket_->get(), where().c_str()) != 0) {
            Socket::fail_zeromq("connection");
        }
        calling_until_ns_ = now + kPatience;
        greet("", writes(options_.pattern) ? shape() : Shape{}, "");
    } catch (const Error& problem) {
        report(problem);
        hang_up();
    }
}

}  // namespace nodewise::transport
