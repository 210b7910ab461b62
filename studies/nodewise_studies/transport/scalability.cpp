// SPDX-License-Identifier: BSD-3-Clause
// nng and nanomsg, two libraries of one protocol: their pipelines, push and pull.
#include <unistd.h>

#include <cerrno>

#include "copying.h"
#include "libraries.h"

namespace transport {
namespace {

constexpr int kPatienceMs = 60'000;

bool looks(const Task& task) { return task.kind == Class::kLatency && task.spin; }

// How many messages either library keeps: as many as 64 MiB hold, and a thousand at most.
int most(const Task& task) {
    constexpr std::uint64_t kBytes = std::uint64_t{64} << 20;
    return static_cast<int>(task.most > 0 ? task.most : std::clamp<std::uint64_t>(kBytes / task.size, 2, 1000));
}

class Nng {
  public:
    Nng(Side& side, bool sends, bool tcp) : looks_(looks(side.task)) {
        int (*open)(Socket*) = nullptr;
        int (*listen)(Socket, const char*, void**, int) = nullptr;
        int (*dial)(Socket, const char*, void**, int) = nullptr;
        int (*set_int)(Socket, const char*, int) = nullptr;
        int (*set_size)(Socket, const char*, std::size_t) = nullptr;
        int (*set_ms)(Socket, const char*, std::int32_t) = nullptr;
        side.find(open, sends ? "nng_push0_open" : "nng_pull0_open");
        side.find(listen, "nng_listen");
        side.find(dial, "nng_dial");
        side.find(set_int, "nng_socket_set_int");
        side.find(set_size, "nng_socket_set_size");
        side.find(set_ms, "nng_socket_set_ms");
        side.find(send_, "nng_send");
        side.find(receive_, "nng_recv");
        side.find(close_, "nng_close");
        side.find(explain_, "nng_strerror");
        must(open(&socket_));
        must(set_ms(socket_, sends ? "send-timeout" : "recv-timeout", kPatienceMs));
        set_size(socket_, "recv-size-max", 0);
        // of version 1.5 neither end of a pipeline has a buffer of messages: then it is as it is
        set_int(socket_, sends ? "send-buffer" : "recv-buffer", std::min(most(side.task), 8192));
        if (sends) {
            must(dial(socket_, side.hear().c_str(), nullptr, 0));
        } else {
            const std::string address =
                tcp ? "tcp://127.0.0.1:" + std::to_string(free_port()) : "abstract://" + random_name("nodewise-study-");
            must(listen(socket_, address.c_str(), nullptr, 0));
            side.tell(address);
        }
    }
    Nng(const Nng&) = delete;
    Nng& operator=(const Nng&) = delete;
    ~Nng() { close_(socket_); }
    void send(const Byte* from, std::uint64_t size) const {
        // it does not write there
        must(send_(socket_, const_cast<Byte*>(from), size, 0));
    }
    void receive(Byte* to, std::uint64_t size) const {
        constexpr int kNonBlocking = 2;
        constexpr int kAgain = 8;
        std::size_t got = size;
        int status = 0;
        do {
            got = size;
            status = receive_(socket_, to, &got, looks_ ? kNonBlocking : 0);
        } while (looks_ && status == kAgain);
        must(status);
        if (got != size) {
            fail("a message of " + std::to_string(got) + " bytes came, not of " + std::to_string(size));
        }
    }
    void finish() const {}

  private:
    struct Socket {
        std::uint32_t id = 0;
    };
    void must(int status) const {
        if (status != 0) {
            fail(explain_(status));
        }
    }
    bool looks_;
    Socket socket_;
    int (*send_)(Socket, void*, std::size_t, int) = nullptr;
    int (*receive_)(Socket, void*, std::size_t*, int) = nullptr;
    int (*close_)(Socket) = nullptr;
    const char* (*explain_)(int) = nullptr;
};

class Nanomsg {
  public:
    Nanomsg(Side& side, bool sends, bool tcp) : looks_(looks(side.task)) {
        int (*open)(int, int) = nullptr;
        int (*bind)(int, const char*) = nullptr;
        int (*connect)(int, const char*) = nullptr;
        int (*set)(int, int, int, const void*, std::size_t) = nullptr;
        side.find(open, "nn_socket");
        side.find(bind, "nn_bind");
        side.find(connect, "nn_connect");
        side.find(set, "nn_setsockopt");
        side.find(send_, "nn_send");
        side.find(receive_, "nn_recv");
        side.find(close_, "nn_close");
        side.find(error_, "nn_errno");
        side.find(explain_, "nn_strerror");
        // Of nn.h and pipeline.h; buffers are bytes.
        constexpr int kDomain = 1, kPush = 80, kPull = 81, kLevel = 0, kSendBuffer = 2, kReceiveBuffer = 3,
                      kSendTimeout = 4, kReceiveTimeout = 5, kReceiveMost = 16, kAny = -1;
        socket_ = must(open(kDomain, sends ? kPush : kPull));
        const auto option = [&](int name, int value) { must(set(socket_, kLevel, name, &value, sizeof value)); };
        option(sends ? kSendTimeout : kReceiveTimeout, kPatienceMs);
        if (!sends) {
            option(kReceiveMost, kAny);
        }
        if (side.task.buffer > 0) {
            option(sends ? kSendBuffer : kReceiveBuffer, static_cast<int>(side.task.buffer));
        }
        if (sends) {
            must(connect(socket_, side.hear().c_str()));
        } else {
            std::string address = "tcp://127.0.0.1:" + std::to_string(free_port());
            if (!tcp) {
                const std::string own = "nodewise-study-" + std::to_string(getpid()) + "-";
                const std::string file = "/tmp/" + random_name(own.c_str());
                address = "ipc://" + file;
                side.loses(file);
            }
            must(bind(socket_, address.c_str()));
            side.tell(address);
        }
    }
    Nanomsg(const Nanomsg&) = delete;
    Nanomsg& operator=(const Nanomsg&) = delete;
    ~Nanomsg() { close_(socket_); }
    void send(const Byte* from, std::uint64_t size) const { must(send_(socket_, from, size, 0)); }
    void receive(Byte* to, std::uint64_t size) const {
        constexpr int kDontWait = 1;
        int got = -1;
        do {
            got = receive_(socket_, to, size, looks_ ? kDontWait : 0);
        } while (got < 0 && looks_ && error_() == EAGAIN);
        if (static_cast<std::uint64_t>(must(got)) != size) {
            fail("a message of " + std::to_string(got) + " bytes came, not of " + std::to_string(size));
        }
    }
    void finish() const {}

  private:
    int must(int result) const {
        if (result < 0) {
            fail(explain_(error_()));
        }
        return result;
    }
    bool looks_;
    int socket_ = -1;
    int (*send_)(int, const void*, std::size_t, int) = nullptr;
    int (*receive_)(int, void*, std::size_t, int) = nullptr;
    int (*close_)(int) = nullptr;
    int (*error_)() = nullptr;
    const char* (*explain_)(int) = nullptr;
};

template <class Wire>
void queue(Side& side, bool tcp) {
    one_way(side, [&](bool sends) { return std::make_unique<Copying<Wire>>(side.task, side, sends, tcp); });
}

}  // namespace

void nng_tcp(Side& side) { queue<Nng>(side, true); }
void nng_ipc(Side& side) { queue<Nng>(side, false); }
void nanomsg_tcp(Side& side) { queue<Nanomsg>(side, true); }
void nanomsg_ipc(Side& side) { queue<Nanomsg>(side, false); }

}  // namespace transport
