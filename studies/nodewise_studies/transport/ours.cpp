// SPDX-License-Identifier: BSD-3-Clause
// nodewise's own transport, over each of its addresses.
#include <bit>

#include "drive.h"
#include "libraries.h"
#include "transport/transport.h"

namespace transport {
namespace {

constexpr std::int64_t kPatience = 60'000'000'000;

struct Calls {
    explicit Calls(const Side& side) {
        side.find(open, "nwt_open");
        side.find(send, "nwt_send");
        side.find(receive, "nwt_receive");
        side.find(loan, "nwt_loan");
        side.find(send_loan, "nwt_send_loan");
        side.find(receive_loan, "nwt_receive_loan");
        side.find(give_back, "nwt_give_back");
        side.find(wait_peers, "nwt_wait_peers");
        side.find(close, "nwt_close");
        side.find(abort, "nwt_abort");
        side.find(explain, "nwt_explain");
    }
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
};

std::string address_over(const std::string& scheme) {
    if (scheme == "tcp" || scheme == "ofi+tcp") {
        return scheme + "://127.0.0.1:" + std::to_string(free_port());
    }
    return scheme + "://" + random_name("nodewise-study-");
}

class Ours {
  public:
    Ours(Side& side, bool sends, const std::string& scheme)
        : calls_(side),
          lends_(side.task.kind == Class::kLoan || side.task.kind == Class::kToken),
          own_(lends_ ? 1 : side.task.size, lends_ ? 1 : buffers_of(side.task, false)),
          size_(side.task.size) {
        const std::string address = sends ? side.hear() : address_over(scheme);
        // two messages or more of a loan have room; a ring that fits the second cache is faster for small ones
        std::uint64_t usual = std::uint64_t{size_ < 1024 ? 2U : 4U} << 20;
        usual = side.task.buffer > 0 ? std::bit_ceil(side.task.buffer) : usual;
        nwt_options options{};
        options.size = sizeof options;
        options.pattern = sends ? NWT_PUSH : NWT_PULL;
        options.bind = sends ? 0 : 1;
        options.address = address.c_str();
        options.waiting = side.task.spin ? NWT_SPIN : NWT_BLOCK;
        options.capacity = lends_ ? std::max(usual, std::bit_ceil(2 * size_)) : usual;
        options.slots = static_cast<std::uint32_t>(side.task.slots > 0 ? std::bit_ceil(side.task.slots) : 0);
        must(calls_.open(&options, &end_));
        if (!sends) {
            side.tell(address);
        }
        must(calls_.wait_peers(end_, 1, kPatience));
    }
    Ours(const Ours&) = delete;
    Ours& operator=(const Ours&) = delete;
    ~Ours() {
        if (end_ != nullptr) {
            calls_.abort(end_);
        }
    }
    Byte* next() {
        if (!lends_) {
            return own_.at(turn_);
        }
        void* data = nullptr;
        must(calls_.loan(end_, size_, &data, kPatience));
        return static_cast<Byte*>(data);
    }
    void post(std::uint64_t size) {
        must(lends_ ? calls_.send_loan(end_) : calls_.send(end_, own_.at(turn_++), size, kPatience));
    }
    void flush() {}
    void finish() { must(calls_.close(std::exchange(end_, nullptr), kPatience)); }
    const Byte* take(std::uint64_t size) {
        if (lends_) {
            must(calls_.receive_loan(end_, &view_, kPatience));
            expect(view_.size, size_);
            return static_cast<const Byte*>(view_.data);
        }
        std::uint64_t got = 0;
        Byte* to = own_.at(turn_++);
        must(calls_.receive(end_, to, size, &got, kPatience));
        expect(got, size);
        return to;
    }
    void done() {
        if (lends_) {
            must(calls_.give_back(end_, &view_));
        }
    }
    void all_read() {}
    Byte* window(std::uint64_t j) const { return own_.at(j); }

  private:
    void must(int status) const {
        if (status != NWT_OK) {
            fail(calls_.explain());
        }
    }
    static void expect(std::uint64_t got, std::uint64_t wanted) {
        if (got != wanted) {
            fail("a message of " + std::to_string(got) + " bytes came, not of " + std::to_string(wanted));
        }
    }
    Calls calls_;
    bool lends_;
    Buffers own_;
    std::uint64_t size_, turn_ = 0;
    nwt_endpoint* end_ = nullptr;
    nwt_view view_{};
};

void ours(Side& side, const std::string& scheme) {
    one_way(side, [&](bool sends) { return std::make_unique<Ours>(side, sends, scheme); });
}

}  // namespace

void ours_shm(Side& side) { ours(side, "shm"); }
void ours_tcp(Side& side) { ours(side, "tcp"); }
void ours_ipc(Side& side) { ours(side, "ipc"); }
void ours_ofi_tcp(Side& side) { ours(side, "ofi+tcp"); }
void ours_ofi_shm(Side& side) { ours(side, "ofi+shm"); }

}  // namespace transport
