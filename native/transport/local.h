// SPDX-License-Identifier: BSD-3-Clause
// Endpoints whose peers are on this machine: shm:// (processes and threads of one user) and inproc:// (threads of one
// process).
#pragma once

#include <vector>

#include "transport/door.h"
#include "transport/endpoint.h"
#include "transport/waiter.h"

namespace nodewise::transport {

class Local final : public Endpoint {
  public:
    explicit Local(const Options& options);
    ~Local() override;
    bool send(const void* data, std::uint64_t size, Deadline deadline) override;
    bool peek(std::uint64_t& size, Deadline deadline) override;
    bool receive(void* buffer, std::uint64_t room, std::uint64_t& size, Deadline deadline) override;
    bool receive_loan(nwt_view& view, Deadline deadline) override;
    bool loan(std::uint64_t size, void*& data, Deadline deadline) override;
    bool wait_peers(std::uint32_t at_least, Deadline deadline) override;
    bool close(Deadline deadline) override;
    void give_back(const nwt_view& view) override;
    void send_loan() override;
    void drop_loan() override;
    void forget() override;

  private:
    using Shared = std::shared_ptr<Link>;

    // local.cpp: peers that come and go
    void attend() {
        if (door_.news()) [[unlikely]] {
            attend_news();
        }
    }
    void attend_news();
    bool settle(const Shared& link);
    void part_from(const Shared& link);
    bool has_all(const Shared& link);
    [[noreturn]] void lose(const Shared& link, const std::string& why);
    template <typename Ready>
    void wait_on(const Shared& link, Ready ready);

    // local_send.cpp
    void may_send() const;
    bool find_room(std::uint64_t descriptors, std::uint64_t bytes, Deadline& deadline);
    bool has_room(const Shared& link, std::uint64_t descriptors, std::uint64_t bytes);
    void write_message(const Shared& link, const std::byte* from, std::uint64_t size);

    // local_receive.cpp
    bool find(Deadline& deadline);
    bool look();
    bool look_at(const Shared& link);
    template <typename Take>
    void take_pieces(const Shared& link, bool keep, Take take);
    bool copied_fits(const Link& link) const;

    Waiter waiter_;
    Options options_;
    std::uint64_t piece_;
    std::vector<Shared> links_;
    std::vector<Shared> parted_;  // with views that are out
    std::size_t next_ = 0;        // whose turn it is
    Shared from_;                 // whose message is the next, and has not been taken
    Descriptor found_;            // its first descriptor, read once
    Shared to_;                   // whose memory the loan is in
    std::uint64_t loan_size_ = 0;
    std::uint64_t views_ = 0;
    Door door_;  // last: its thread ends first
};

// For what goes on until it is done, or its peer is gone.
template <typename Ready>
void Local::wait_on(const Shared& link, Ready ready) {
    Deadline never(NWT_FOREVER);
    const auto done = [&] {
        const bool gone = link->gone.load(std::memory_order_acquire);
        if (ready()) {
            return true;
        }
        if (gone) {
            lose(link, "it has gone in the middle of a message");
        }
        return false;
    };
    try {
        waiter_.wait(never, done);
    } catch (const Damaged& problem) {
        lose(link, problem.what());
    } catch (const Error& problem) {
        if (problem.status() == NWT_INTERRUPTED) {
            part_from(link);  // half a message has gone to it, or come from it
        }
        throw;
    }
}

}  // namespace nodewise::transport
