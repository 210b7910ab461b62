// SPDX-License-Identifier: BSD-3-Clause
// An endpoint, whatever brings its peers: whose turn it is, messages in pieces and in parts, who is to have them, and
// what goes wrong.
#pragma once

#include <exception>
#include <vector>

#include "transport/door.h"
#include "transport/endpoint.h"
#include "transport/envelope.h"
#include "transport/waiter.h"

namespace nodewise::transport {

class Mailbox final : public Endpoint {
  public:
    explicit Mailbox(const Options& options);
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;
    ~Mailbox() override;
    bool send(const void* data, std::uint64_t size, Deadline deadline) override;
    bool send_parts(std::span<const nwt_part> parts, Deadline deadline) override;
    bool peek(std::uint64_t& size, Deadline deadline) override;
    bool receive(void* buffer, std::uint64_t room, std::uint64_t& size, Deadline deadline) override;
    bool receive_loan(nwt_view& view, Deadline deadline) override;
    bool loan(std::uint64_t size, void*& data, Deadline deadline) override;
    bool wait_peers(std::uint32_t at_least, Deadline deadline) override;
    bool close(Deadline deadline) override;
    void give_back(const nwt_view& view) override;
    std::span<const std::uint64_t> parts() override {
        return parts_.empty() ? std::span<const std::uint64_t>(&whole_, 1) : parts_;
    }
    void send_loan() override;
    void drop_loan() override;
    void subscribe(std::string_view prefix, bool wanted) override;
    std::uint64_t left_out() const override { return left_out_; }
    std::string address() const override { return door_->address(); }
    std::string provider() const override { return door_->provider(); }
    std::uint32_t ready(std::uint32_t wanted) override;
    int descriptor() override;
    void arm() override { waiter_.bell().announce_on_event(); }
    void disarm() override { waiter_.bell().show_on_event(); }
    void ask() const override { waiter_.ask(); }
    void forget() override;

  private:
    using Shared = std::shared_ptr<Link>;
    struct Letter {  // a message that is more than bytes
        std::uint32_t type = 0;
        std::uint64_t number = 0;
        std::span<const nwt_part> parts;
        std::span<const std::uint64_t> sizes;  // empty: it is one part
        std::uint64_t bytes = 0;               // with its envelope
    };

    // mailbox.cpp: peers that come and go
    void attend() {
        if (door_->news() || failed_) [[unlikely]] {
            attend_news();
        }
        if (options_.pattern >= NWT_PUBLISH) {
            attend_topics();
        }
    }
    void attend_news();
    void attend_to_who_is_here();
    bool settle(const Shared& link);
    void part_from(const Shared& link);
    bool has_all(const Shared& link);
    void take_leave();
    [[noreturn]] void lose(const Shared& link, const std::string& why, std::uint64_t unanswered = 0);
    template <typename Ready>
    void wait_on(const Shared& link, Ready ready);

    // mailbox_send.cpp
    void may_send() const;
    bool find_room(std::uint64_t descriptors, std::uint64_t bytes, Deadline& deadline);
    bool has_room(const Shared& link, std::uint64_t descriptors, std::uint64_t bytes);
    bool has_room_for(const Shared& link, std::uint64_t bytes);
    bool room_to_begin(std::uint64_t& descriptors, std::uint64_t& bytes) const;
    void write_message(const Shared& link, const std::byte* from, std::uint64_t size);
    void write_letter(const Shared& link, const Letter& letter);

    // mailbox_patterns.cpp: who is to have it
    bool post(std::span<const nwt_part> parts, std::span<const std::uint64_t> sizes, Deadline& deadline);
    bool publish(Letter& letter, Deadline& deadline);
    bool find_room_for_all(const Letter& letter, Deadline& deadline);
    void hand_out(Letter& letter);
    void may_publish(std::uint64_t bytes) const;
    bool find_asked(std::uint64_t descriptors, std::uint64_t bytes, Deadline& deadline);
    void attend_topics();
    void hear_topics(const Shared& link);
    void tell_topics(const Shared& link);
    bool is_for_us(const Shared& link);

    // mailbox_receive.cpp
    bool find(Deadline& deadline);
    bool look();
    bool look_at(const Shared& link);
    void open_envelope(const Shared& link);
    void taken(const Shared& link, bool alone);
    void handed_over(const Shared& link);
    void discard(const Shared& link);
    template <typename Take>
    void take_pieces(const Shared& link, bool keep, Take take);
    bool copied_fits(const Link& link) const;

    Waiter waiter_;
    Options options_;
    std::uint64_t piece_;
    std::vector<Shared> links_;
    std::vector<Shared> parted_;        // with views that are out
    std::size_t next_ = 0;              // whose turn it is
    Shared from_;                       // whose message is the next, and has not been taken
    Descriptor found_;                  // its first descriptor, read once
    Envelope envelope_;                 // what it began with
    std::vector<std::uint64_t> parts_;  // of what was handed over last; empty: it was one, of `whole_` bytes
    std::uint64_t whole_ = 0;
    Shared to_;  // whose memory the loan is in
    std::uint64_t loan_size_ = 0;
    std::unique_ptr<std::byte[]> staged_;  // a loan that is to be published
    std::uint64_t views_ = 0;
    std::exception_ptr failed_;  // what ready() met, for the next call

    Topics topics_;               // ours
    std::uint64_t left_out_ = 0;  // messages
    std::uint64_t request_ = 0;   // the number of the last one
    Shared asked_;                // who has it, and has not answered
    Shared asker_;                // who is to have the reply
    std::uint64_t question_ = 0;  // its number
    std::unique_ptr<Door> door_;  // last: its thread ends first
};

// For what goes on until it is done, or its peer is gone.
template <typename Ready>
void Mailbox::wait_on(const Shared& link, Ready ready) {
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
