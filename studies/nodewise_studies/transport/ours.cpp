// SPDX-License-Identifier: BSD-3-Clause
// nodewise's transport, over shm:// as two processes would have it: two endpoints with mappings of their own.
#include <dlfcn.h>
#include <unistd.h>

#include <bit>
#include <string>

#include "pair.h"
#include "transport/transport.h"

namespace transport {
namespace {

constexpr std::int64_t kPatience = 20'000'000'000;

struct Calls {
    explicit Calls(void* library) : library_(library) {
        open = find<decltype(&nwt_open)>("nwt_open");
        send = find<decltype(&nwt_send)>("nwt_send");
        receive = find<decltype(&nwt_receive)>("nwt_receive");
        loan = find<decltype(&nwt_loan)>("nwt_loan");
        send_loan = find<decltype(&nwt_send_loan)>("nwt_send_loan");
        receive_loan = find<decltype(&nwt_receive_loan)>("nwt_receive_loan");
        give_back = find<decltype(&nwt_give_back)>("nwt_give_back");
        wait_peers = find<decltype(&nwt_wait_peers)>("nwt_wait_peers");
        close = find<decltype(&nwt_close)>("nwt_close");
        abort = find<decltype(&nwt_abort)>("nwt_abort");
        explain = find<decltype(&nwt_explain)>("nwt_explain");
    }
    bool all() const { return found_; }
    decltype(&nwt_open) open;
    decltype(&nwt_send) send;
    decltype(&nwt_receive) receive;
    decltype(&nwt_loan) loan;
    decltype(&nwt_send_loan) send_loan;
    decltype(&nwt_receive_loan) receive_loan;
    decltype(&nwt_give_back) give_back;
    decltype(&nwt_wait_peers) wait_peers;
    decltype(&nwt_close) close;
    decltype(&nwt_abort) abort;
    decltype(&nwt_explain) explain;

  private:
    template <class Call>
    Call find(const char* name) {
        void* symbol = dlsym(library_, name);
        found_ = found_ && symbol != nullptr;
        return reinterpret_cast<Call>(symbol);
    }
    void* library_;
    bool found_ = true;
};

class Ours {
  public:
    Ours(const Calls& calls, const Task& task) : calls_(calls) {
        static int number = 0;
        const std::string address = "shm://study-" + std::to_string(getpid()) + "-" + std::to_string(number++);
        // two messages or more of a loan have room; a ring that fits the second cache is faster for small ones
        const std::uint64_t usual = std::uint64_t{task.size < 1024 ? 2U : 4U} << 20;
        nwt_options options{};
        options.size = sizeof options;
        options.address = address.c_str();
        options.waiting = task.spin ? NWT_SPIN : NWT_BLOCK;
        options.capacity = task.kind == Class::kCopy ? usual : std::max(usual, std::bit_ceil(2 * task.size));
        options.pattern = NWT_PULL;
        options.bind = 1;
        good_ = calls.open(&options, &pull_) == NWT_OK;
        options.pattern = NWT_PUSH;
        options.bind = 0;
        good_ = good_ && calls.open(&options, &push_) == NWT_OK && calls.wait_peers(push_, 1, kPatience) == NWT_OK &&
                calls.wait_peers(pull_, 1, kPatience) == NWT_OK;
        problem_ = good_ ? "" : calls.explain();
    }
    Ours(const Ours&) = delete;
    Ours& operator=(const Ours&) = delete;
    ~Ours() {
        calls_.abort(push_);
        calls_.abort(pull_);
    }
    bool good() const { return good_; }
    const std::string& problem() const { return problem_; }
    bool send(const void* data, std::uint64_t size) const {
        return calls_.send(push_, data, size, kPatience) == NWT_OK;
    }
    bool receive(void* data, std::uint64_t size) const {
        std::uint64_t got = 0;
        return calls_.receive(pull_, data, size, &got, kPatience) == NWT_OK && got == size;
    }
    bool lend(std::uint64_t*& words, std::uint64_t size) const {
        void* data = nullptr;
        const bool good = calls_.loan(push_, size, &data, kPatience) == NWT_OK;
        words = static_cast<std::uint64_t*>(data);
        return good;
    }
    bool hand_over() const { return calls_.send_loan(push_) == NWT_OK; }
    bool take(const std::uint64_t*& words, std::uint64_t& size) {
        const bool good = calls_.receive_loan(pull_, &view_, kPatience) == NWT_OK;
        words = static_cast<const std::uint64_t*>(view_.data);
        size = view_.size;
        return good;
    }
    bool give_back() const { return calls_.give_back(pull_, &view_) == NWT_OK; }
    bool finish() { return calls_.close(std::exchange(push_, nullptr), kPatience) == NWT_OK; }
    void give_up() {}  // the other side's patience ends

  private:
    const Calls& calls_;
    nwt_endpoint* push_ = nullptr;
    nwt_endpoint* pull_ = nullptr;
    nwt_view view_{};
    bool good_ = false;
    std::string problem_;
};

}  // namespace

int ours(nw_run* run) {
    const Calls calls(run->library);
    if (!calls.all()) {
        return nw_fail(run, "libnodewise-transport.so is of another version");
    }
    const Task task = task_of(run);
    if (task.kind == Class::kCopy || task.kind == Class::kLatency) {
        return copying<Ours>(run, "transport", [&](const Task& given) { return std::make_unique<Ours>(calls, given); });
    }
    Ours link(calls, task);
    return link.good() ? lent(run, task, link, "transport")
                       : nw_fail(run, "transport cannot be set up: %s", link.problem().c_str());
}

}  // namespace transport
