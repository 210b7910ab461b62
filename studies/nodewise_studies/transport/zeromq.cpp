// SPDX-License-Identifier: BSD-3-Clause
// ZeroMQ's PUSH and PULL.
#include <cerrno>

#include "copying.h"
#include "libraries.h"

namespace transport {
namespace {

// Of zmq.h.
constexpr int kPull = 7, kPush = 8, kSendBuffer = 11, kReceiveBuffer = 12, kLinger = 17, kSendMost = 23,
              kReceiveMost = 24, kReceiveTimeout = 27, kSendTimeout = 28, kLastEndpoint = 32, kDontWait = 1;
constexpr int kPatienceMs = 60'000;

struct Calls {
    explicit Calls(const Side& side) {
        side.find(context, "zmq_ctx_new");
        side.find(end, "zmq_ctx_term");
        side.find(socket, "zmq_socket");
        side.find(close, "zmq_close");
        side.find(set, "zmq_setsockopt");
        side.find(get, "zmq_getsockopt");
        side.find(bind, "zmq_bind");
        side.find(connect, "zmq_connect");
        side.find(send, "zmq_send");
        side.find(receive, "zmq_recv");
        side.find(error, "zmq_errno");
        side.find(explain, "zmq_strerror");
    }
    void* (*context)();
    int (*end)(void*);
    void* (*socket)(void*, int);
    int (*close)(void*);
    int (*set)(void*, int, const void*, std::size_t);
    int (*get)(void*, int, void*, std::size_t*);
    int (*bind)(void*, const char*);
    int (*connect)(void*, const char*);
    int (*send)(void*, const void*, std::size_t, int);
    int (*receive)(void*, void*, std::size_t, int);
    int (*error)();
    const char* (*explain)(int);
};

class Queue {
  public:
    Queue(Side& side, bool sends, const std::string& address)
        : calls_(side), looks_(side.task.kind == Class::kLatency && side.task.spin) {
        context_ = calls_.context();
        socket_ = calls_.socket(context_, sends ? kPush : kPull);
        // its default of 1000 messages, or as many as 64 MiB hold
        constexpr std::uint64_t kBytes = std::uint64_t{64} << 20;
        const std::uint64_t usual = std::clamp<std::uint64_t>(kBytes / side.task.size, 2, 1000);
        const int most = static_cast<int>(side.task.most > 0 ? side.task.most : usual);
        set(kSendMost, most);
        set(kReceiveMost, most);
        if (side.task.buffer > 0) {
            set(kSendBuffer, static_cast<int>(side.task.buffer));
            set(kReceiveBuffer, static_cast<int>(side.task.buffer));
        }
        set(kSendTimeout, kPatienceMs);
        set(kReceiveTimeout, kPatienceMs);
        set(kLinger, 0);  // both sides leave together
        if (sends) {
            must(calls_.connect(socket_, side.hear().c_str()));
        } else {
            must(calls_.bind(socket_, address.c_str()));
            std::string found(256, '\0');
            std::size_t length = found.size();
            must(calls_.get(socket_, kLastEndpoint, found.data(), &length));
            side.tell(found.c_str());
        }
    }
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;
    ~Queue() {
        calls_.close(socket_);
        calls_.end(context_);
    }
    void send(const Byte* from, std::uint64_t size) const { must(calls_.send(socket_, from, size, 0)); }
    void receive(Byte* to, std::uint64_t size) const {
        int got = -1;
        do {
            got = calls_.receive(socket_, to, size, looks_ ? kDontWait : 0);
        } while (got < 0 && looks_ && calls_.error() == EAGAIN);
        must(got);
        if (static_cast<std::uint64_t>(got) != size) {
            fail("a message of " + std::to_string(got) + " bytes came, not of " + std::to_string(size));
        }
    }
    void finish() const {}

  private:
    void set(int option, int value) const { must(calls_.set(socket_, option, &value, sizeof value)); }
    void must(int status) const {
        if (status < 0) {
            fail(calls_.explain(calls_.error()));
        }
    }
    Calls calls_;
    bool looks_;
    void* context_;
    void* socket_;
};

void zeromq(Side& side, const std::string& address) {
    one_way(side, [&](bool sends) {
        // each of two is an address of its own
        const std::string own = address == "ipc" ? "ipc://@" + random_name("nodewise-study-") : address;
        return std::make_unique<Copying<Queue>>(side.task, side, sends, own);
    });
}

}  // namespace

void zeromq_tcp(Side& side) { zeromq(side, "tcp://127.0.0.1:*"); }
void zeromq_ipc(Side& side) { zeromq(side, "ipc"); }

}  // namespace transport
