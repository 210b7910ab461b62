// SPDX-License-Identifier: BSD-3-Clause
// ZeroMQ's sockets and messages, as tcp and ipc have them.
#pragma once

#include <unistd.h>
#include <zmq.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <span>
#include <string>

#include "transport/error.h"
#include "transport/relay.h"

namespace nodewise::transport {

// A socket with its monitor.
class Socket {
  public:
    // A process that dies ends its connection, which is seen at once. This is for machines that vanish, and long enough
    // that none is taken for dead where ZeroMQ's thread has to wait for a processor.
    static constexpr int kBeatMs = 1000, kSilenceMs = 5000;

    Socket(void* context, int type, const std::string& scheme) : socket_(zmq_socket(context, type)) {
        if (socket_ == nullptr) {
            fail_zeromq("a socket");
        }
        set(ZMQ_LINGER, 0);
        set(ZMQ_SNDHWM, 0);  // what is on the way is bounded by the rings
        set(ZMQ_RCVHWM, 0);
        set(ZMQ_RECONNECT_IVL, -1);  // another connection is another greeting
        set(ZMQ_HEARTBEAT_IVL, kBeatMs);
        set(ZMQ_HEARTBEAT_TIMEOUT, kSilenceMs);
        set(ZMQ_HANDSHAKE_IVL, 1000);
        if (type == ZMQ_ROUTER) {
            set(ZMQ_ROUTER_MANDATORY, 1);
        }
        const auto most = static_cast<std::int64_t>(Relay::kMostFrame);
        zmq_setsockopt(socket_, ZMQ_MAXMSGSIZE, &most, sizeof most);
        if (scheme == "ipc") {
            const uid_t user = geteuid();
            zmq_setsockopt(socket_, ZMQ_IPC_FILTER_UID, &user, sizeof user);
        }
        static std::atomic<std::uint64_t> numbers{0};
        const std::string name = "inproc://monitor-" + std::to_string(numbers++);
        if (zmq_socket_monitor(socket_, name.c_str(), ZMQ_EVENT_ALL) != 0) {
            close();
            fail_zeromq("a monitor");
        }
        monitor_ = zmq_socket(context, ZMQ_PAIR);
        if (monitor_ == nullptr || zmq_connect(monitor_, name.c_str()) != 0) {
            close();
            fail_zeromq("a monitor");
        }
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() { close(); }
    void set(int option, int value) const { zmq_setsockopt(socket_, option, &value, sizeof value); }
    void* get() const { return socket_; }
    void* monitor() const { return monitor_; }

    [[noreturn]] static void fail_zeromq(const std::string& what) {
        const int code = zmq_errno();
        throw Error(NWT_SYSTEM, "ZeroMQ has no " + what + ": " + zmq_strerror(code));
    }

  private:
    void close() {
        if (socket_ != nullptr) {
            zmq_socket_monitor(socket_, nullptr, 0);
            zmq_close(socket_);
        }
        if (monitor_ != nullptr) {
            const int none = 0;
            zmq_setsockopt(monitor_, ZMQ_LINGER, &none, sizeof none);
            zmq_close(monitor_);
        }
    }
    void* socket_;
    void* monitor_ = nullptr;
};

class Message {
  public:
    Message() { zmq_msg_init(&message_); }
    explicit Message(std::size_t size) {
        if (zmq_msg_init_size(&message_, size) != 0) {
            throw std::bad_alloc();
        }
    }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;
    ~Message() { zmq_msg_close(&message_); }
    zmq_msg_t* get() { return &message_; }
    std::byte* data() { return static_cast<std::byte*>(zmq_msg_data(&message_)); }
    std::span<const std::byte> bytes() { return {data(), zmq_msg_size(&message_)}; }
    std::string text() { return {reinterpret_cast<const char*>(data()), zmq_msg_size(&message_)}; }
    bool more() { return zmq_msg_more(&message_) != 0; }

  private:
    zmq_msg_t message_{};
};

}  // namespace nodewise::transport
