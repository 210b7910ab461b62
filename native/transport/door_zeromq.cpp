// SPDX-License-Identifier: BSD-3-Clause
// tcp and ipc, by ZeroMQ: who binds has a ROUTER, who connects a DEALER for each time that it does. A connection that
// ends is told by the socket's monitor, one that has gone silent by ZMTP's heartbeats.
#include "transport/door_zeromq.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/port_owner.h"

namespace nodewise::transport {

namespace {

sockaddr_un abstract(const std::string& name, socklen_t& length) {
    sockaddr_un address{};
    if (name.size() + 1 > sizeof address.sun_path) {
        throw Error(NWT_INVALID, "the name is too long: " + name);
    }
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return address;
}

std::string ipc_name(const Options& options) {
    return "nodewise-transport/ipc/" + std::to_string(geteuid()) + "/" + options.name;
}

// Who listens at an ipc address, if somebody does.
std::optional<Credentials> listener(const Options& options) {
    const Fd socket(checked(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket"));
    socklen_t length = 0;
    const sockaddr_un address = abstract(ipc_name(options), length);
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
        return std::nullopt;
    }
    return credentials_of(socket.get());
}

}  // namespace

ZeromqDoor::ZeromqDoor(const Options& options, const Bell& bell) : Door(options, bell), context_(zmq_ctx_new()) {
    if (context_ == nullptr) {
        Socket::fail_zeromq("context");
    }
    const auto give_up = [&] {
        socket_.reset();
        zmq_ctx_term(context_);
    };
    try {
        zmq_ctx_set(context_, ZMQ_BLOCKY, 0);
        socklen_t length = 0;
        if (options_.scheme == "ipc") {
            abstract(ipc_name(options_), length);
        }
        address_ = Door::address();
        if (options_.capacity > Relay::kMostCapacity || options_.slots > Relay::kMostSlots) {
            throw Error(NWT_INVALID,
                        "over tcp and ipc the capacity is at most 1073741824 bytes, and there are at most "
                        "1048576 slots");
        }
        if (options_.bind) {
            socket_ = std::make_unique<Socket>(context_, ZMQ_ROUTER, options_.scheme);
            if (zmq_bind(socket_->get(), where().c_str()) != 0) {
                const int code = zmq_errno();
                if (code == EADDRINUSE) {
                    const std::optional<Credentials> who = options_.scheme == "ipc" ? listener(options_) : std::nullopt;
                    throw Error(NWT_ADDRESS_TAKEN, who ? "the address is taken by process " + std::to_string(who->pid)
                                                   : options_.scheme == "tcp"
                                                       ? place_is_taken(options_.name)
                                                       : "the address is taken by a process that is just ending");
                }
                throw Error(code == EACCES || code == EMFILE || code == ENFILE ? NWT_SYSTEM : NWT_INVALID,
                            "cannot bind to " + address_ + ": " + zmq_strerror(code));
            }
            if (options_.scheme == "tcp") {
                std::array<char, 256> found{};
                std::size_t room = found.size();
                if (zmq_getsockopt(socket_->get(), ZMQ_LAST_ENDPOINT, found.data(), &room) == 0) {
                    address_ = found.data();
                }
            }
        } else {
            socket_ = std::make_unique<Socket>(context_, ZMQ_DEALER, options_.scheme);
            if (options_.scheme == "tcp" && zmq_connect(socket_->get(), where().c_str()) != 0) {
                throw Error(NWT_INVALID, "cannot connect to " + address_ + ": " + zmq_strerror(zmq_errno()));
            }
            socket_.reset();
        }
        thread_ = quiet_thread([this] { run(); });
    } catch (...) {
        give_up();
        throw;
    }
}

ZeromqDoor::~ZeromqDoor() {
    if (forgotten_) {
        (void)socket_.release();  // NOLINT(bugprone-unused-return-value): it is the parent's, with its threads
        return;
    }
    if (thread_.joinable()) {
        stopping_ = true;
        keeper_.ring(true);
        thread_.join();
    }
    socket_.reset();
    zmq_ctx_term(context_);
}

std::string ZeromqDoor::where() const {
    return options_.scheme == "ipc" ? "ipc://@" + ipc_name(options_) : "tcp://" + options_.name;
}

void ZeromqDoor::shut() {
    if (forgotten_) {
        return;  // the parent may have had the lock when we were forked
    }
    const std::scoped_lock lock(meeting_);
    shut_ = true;
}

void ZeromqDoor::finish() {
    finishing_ = true;
    keeper_.ring(true);
    if (thread_.joinable()) {
        thread_.join();
    }
    if (socket_) {
        socket_->set(ZMQ_LINGER, kLingerMs);
        socket_.reset();
    }
}

void ZeromqDoor::forget() {
    forgotten_ = true;
    if (thread_.joinable()) {
        thread_.detach();
    }
}

void ZeromqDoor::run() {
    while (!stopping_) {
        try {
            const bool last = finishing_.load();
            knock();
            read_monitor();
            const bool read_some = read();
            const bool wrote_some = write();
            sweep();
            if (last && !wrote_some && take_leave()) {
                return;
            }
            if (!read_some && !wrote_some) {
                rest();
            }
        } catch (const std::exception&) {
            // out of descriptors or memory: those who are there go on, and new ones are tried again
            next_knock_ns_ = now_ns() + kLongestGap;
            usleep(10'000);
        }
    }
}

// Sleeps until somebody has sent or written something.
void ZeromqDoor::rest() {
    keeper_.announce_on_event();
    if (write() || (finishing_ && leaving_until_ns_ == 0) || stopping_) {
        keeper_.stay_awake();
        return;
    }
    std::array<zmq_pollitem_t, 3> watched{};
    watched[0] = {.socket = nullptr, .fd = keeper_.event().get(), .events = ZMQ_POLLIN, .revents = 0};
    if (socket_) {
        watched[1] = {.socket = socket_->get(), .fd = 0, .events = ZMQ_POLLIN, .revents = 0};
        watched[2] = {.socket = socket_->monitor(), .fd = 0, .events = ZMQ_POLLIN, .revents = 0};
    }
    std::int64_t wait = -1;
    if (leaving_until_ns_ != 0) {
        wait = std::max<std::int64_t>(0, (leaving_until_ns_ - now_ns()) / kMillisecond);
    } else if (!options_.bind && peers_.empty() && !refused()) {
        const std::int64_t until = calling_until_ns_ != 0 ? calling_until_ns_ : next_knock_ns_;
        wait = std::max<std::int64_t>(0, (until - now_ns() + kMillisecond - 1) / kMillisecond);
    }
    zmq_poll(watched.data(), socket_ ? 3 : 1, wait);
    keeper_.stay_awake();
}

// Whether there was something.
bool ZeromqDoor::read() {
    int count = 0;
    while (count < kTurn && socket_ && read_one()) {
        ++count;
    }
    if (count == kTurn) {
        return true;
    }
    // what a peer had sent before its connection ended has been read by now
    for (Peer& peer : peers_) {
        if (peer.ended) {
            lose(peer, "");
        }
    }
    if (cut_) {
        for (Peer& peer : peers_) {
            lose(peer, "");
        }
        if (peers_.empty()) {
            hang_up();
        }
        cut_ = false;
    }
    return count != 0;
}

bool ZeromqDoor::read_one() {
    std::string id;
    if (options_.bind) {
        Message first;
        if (zmq_msg_recv(first.get(), socket_->get(), ZMQ_DONTWAIT) < 0) {
            return false;
        }
        id = first.text();
        if (!first.more()) {
            return true;
        }
    }
    Message frame;
    if (zmq_msg_recv(frame.get(), socket_->get(), ZMQ_DONTWAIT) < 0) {
        return false;
    }
    bool odd = false;
    for (bool more = frame.more(); more; odd = true) {
        Message rest;
        more = zmq_msg_recv(rest.get(), socket_->get(), ZMQ_DONTWAIT) >= 0 && rest.more();
    }
    const auto peer = std::ranges::find_if(peers_, [&](const Peer& known) { return known.id == id; });
    if (peer == peers_.end()) {
        const int fd = zmq_msg_get(frame.get(), ZMQ_SRCFD);
        const char* place = options_.scheme == "tcp" ? zmq_msg_gets(frame.get(), "Peer-Address") : nullptr;
        meet(id, fd, odd ? std::span<const std::byte>() : frame.bytes(), place == nullptr ? "" : place);
        return true;
    }
    try {
        if (peer->gone) {
            return true;
        }
        if (odd) {
            throw Damaged("it has sent what is no frame");
        }
        if (frame.bytes().empty()) {
            lose(*peer, "it has ended the connection");
            return true;
        }
        if (frame.bytes().size() == 1) {
            if (frame.bytes()[0] == static_cast<std::byte>(Word::kFarewell)) {
                say(*peer, Word::kHeard);
            } else {
                peer->heard = true;
            }
            return true;
        }
        peer->relay->accept(frame.bytes());
        bell_.ring(true);
    } catch (const Damaged& problem) {
        lose(*peer, problem.what());
    }
    return true;
}

void ZeromqDoor::read_monitor() {
    while (socket_) {
        Message what;
        if (zmq_msg_recv(what.get(), socket_->monitor(), ZMQ_DONTWAIT) < 0) {
            return;
        }
        Message about;
        if (what.more()) {
            zmq_msg_recv(about.get(), socket_->monitor(), ZMQ_DONTWAIT);
        }
        if (what.bytes().size() == 6) {
            std::uint16_t event = 0;
            std::int32_t value = 0;
            std::memcpy(&event, what.data(), sizeof event);
            std::memcpy(&value, what.data() + sizeof event, sizeof value);
            happened(event, value);
        }
    }
}

// All that endpoints have written; whether there was something.
bool ZeromqDoor::write() {
    bool some = false;
    for (Peer& peer : peers_) {
        some = write_to(peer) || some;
    }
    return some;
}

bool ZeromqDoor::write_to(Peer& peer) {
    bool some = false;
    std::optional<Message> frame;
    const auto room = [&](std::size_t size) { return frame.emplace(size).data(); };
    try {
        while (!peer.gone && peer.relay->next_frame(room)) {
            some = true;
            if (frame.has_value() && !send(peer.id, *frame)) {
                lose(peer, "");
            }
        }
    } catch (const Damaged& problem) {
        lose(peer, problem.what());
    }
    return some;
}

bool ZeromqDoor::somebody_there() const {
    if (options_.scheme != "ipc") {
        return true;
    }
    const std::optional<Credentials> who = listener(options_);
    if (who && who->uid != geteuid()) {
        throw Error(NWT_REFUSED, "the other side belongs to another user (process " + std::to_string(who->pid) +
                                     ", uid " + std::to_string(who->uid) + ")");
    }
    return who.has_value();
}

std::unique_ptr<Door> open_zeromq_door(const Options& options, const Bell& bell) {
    return std::make_unique<ZeromqDoor>(options, bell);
}

}  // namespace nodewise::transport
