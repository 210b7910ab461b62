// SPDX-License-Identifier: BSD-3-Clause
// ZeroMQ's PUSH and PULL, each side with a context of its own, as two processes have.
#include <dlfcn.h>

#include <string>

#include "pair.h"

namespace transport {
namespace {

// Of zmq.h.
constexpr int kPull = 7, kPush = 8, kLinger = 17, kSendMost = 23, kReceiveMost = 24, kReceiveTimeout = 27,
              kSendTimeout = 28, kLastEndpoint = 32;

struct Calls {
    explicit Calls(void* library) : library_(library) {
        find(context, "zmq_ctx_new");
        find(end, "zmq_ctx_term");
        find(socket, "zmq_socket");
        find(close, "zmq_close");
        find(set, "zmq_setsockopt");
        find(get, "zmq_getsockopt");
        find(bind, "zmq_bind");
        find(connect, "zmq_connect");
        find(send, "zmq_send");
        find(receive, "zmq_recv");
    }
    bool all() const { return found_; }
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

  private:
    template <class Call>
    void find(Call& call, const char* name) {
        void* symbol = dlsym(library_, name);
        call = reinterpret_cast<Call>(symbol);
        found_ = found_ && symbol != nullptr;
    }
    void* library_;
    bool found_ = true;
};

class Queue {
  public:
    Queue(const Calls& calls, const Task& task, const char* address) : calls_(calls) {
        pull_context_ = calls.context();
        push_context_ = calls.context();
        pull_ = calls.socket(pull_context_, kPull);
        push_ = calls.socket(push_context_, kPush);
        // its default of 1000 messages, or as many as 64 MiB hold
        constexpr std::uint64_t kBytes = std::uint64_t{64} << 20;
        const int most = static_cast<int>(std::clamp<std::uint64_t>(kBytes / task.size, 2, 1000));
        const int patience = 20'000;
        const int none = 0;
        for (void* end : {pull_, push_}) {
            calls.set(end, kSendMost, &most, sizeof most);
            calls.set(end, kReceiveMost, &most, sizeof most);
            calls.set(end, kSendTimeout, &patience, sizeof patience);
            calls.set(end, kReceiveTimeout, &patience, sizeof patience);
            calls.set(end, kLinger, &none, sizeof none);
        }
        std::string found(256, '\0');
        std::size_t length = found.size();
        good_ = calls.bind(pull_, address) == 0 && calls.get(pull_, kLastEndpoint, found.data(), &length) == 0 &&
                calls.connect(push_, found.c_str()) == 0;
    }
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;
    ~Queue() {
        calls_.close(push_);
        calls_.close(pull_);
        calls_.end(push_context_);
        calls_.end(pull_context_);
    }
    bool good() const { return good_; }
    std::string problem() const { return "its address"; }
    bool send(const void* data, std::uint64_t size) const {
        return calls_.send(push_, data, size, 0) == static_cast<int>(size);
    }
    bool receive(void* data, std::uint64_t size) const {
        return calls_.receive(pull_, data, size, 0) == static_cast<int>(size);
    }
    bool finish() const { return true; }
    void give_up() {}  // the other side's patience ends

  private:
    const Calls& calls_;
    void* pull_context_;
    void* push_context_;
    void* pull_;
    void* push_;
    bool good_ = false;
};

int zeromq(nw_run* run, const char* name, const char* address) {
    const Calls calls(run->library);
    if (!calls.all()) {
        return nw_fail(run, "%s: the library lacks calls of ZeroMQ 4", name);
    }
    return copying<Queue>(run, name, [&](const Task& task) { return std::make_unique<Queue>(calls, task, address); });
}

}  // namespace

int zeromq_ipc(nw_run* run) { return zeromq(run, "zeromq-ipc", "ipc://*"); }
int zeromq_tcp(nw_run* run) { return zeromq(run, "zeromq-tcp", "tcp://127.0.0.1:*"); }

}  // namespace transport
