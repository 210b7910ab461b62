// SPDX-License-Identifier: BSD-3-Clause
#include "transport/local.h"

namespace nodewise::transport {

void Local::may_send() const {
    if (!writes(options_.pattern)) [[unlikely]] {
        throw Error(NWT_INVALID, "an endpoint that pulls does not send");
    }
    if (to_) [[unlikely]] {
        throw Error(NWT_INVALID, "a loan is out: send or drop it first");
    }
}

bool Local::has_room(const Shared& link, std::uint64_t descriptors, std::uint64_t bytes) {
    try {
        return link->out->room(descriptors, bytes) && !link->gone.load(std::memory_order_relaxed);
    } catch (const Damaged& problem) {
        lose(link, problem.what());
    }
}

// In `to_`, the peer whose turn it is of those with room.
bool Local::find_room(std::uint64_t descriptors, std::uint64_t bytes, Deadline& deadline) {
    // who was full gets room for many, not for one: each look at its progress takes the line away from it
    constexpr int kPauses = 16;
    return waiter_.wait(
        deadline,
        [&] {
            attend();
            for (std::size_t i = 0; i < links_.size(); ++i) {
                next_ = next_ + 1 < links_.size() ? next_ + 1 : 0;
                if (has_room(links_[next_], descriptors, bytes)) {
                    to_ = links_[next_];
                    return true;
                }
            }
            return false;
        },
        kPauses);
}

bool Local::send(const void* data, std::uint64_t size, Deadline deadline) {
    may_send();
    // a message that does not fit half the ring begins with a piece
    const std::uint64_t pieces = size <= piece_ ? 1 : (size + piece_ - 1) / piece_;
    const bool fits = pieces <= options_.slots / 2 && lines(size) <= options_.capacity / 2;
    if (!find_room(fits ? pieces : 1, fits ? lines(size) : piece_, deadline)) {
        return false;
    }
    write_message(std::exchange(to_, nullptr), static_cast<const std::byte*>(data), size);
    return true;
}

void Local::write_message(const Shared& link, const std::byte* from, std::uint64_t size) {
    Writer& out = *link->out;
    std::uint64_t done = 0;
    do {
        const std::uint64_t piece = size - done < piece_ ? size - done : piece_;
        if (!out.has(1, lines(piece))) {
            wait_on(link, [&] { return out.room(1, lines(piece)); });
        }
        copy(out.at(), from + done, piece);
        const std::uint64_t descriptor = done == 0 ? Descriptor::make(Descriptor::kMessage, size, false)
                                                   : Descriptor::make(Descriptor::kRest, piece, false);
        done += piece;
        out.show(descriptor, piece, done == size);
        link->ring();
    } while (done < size);
}

bool Local::loan(std::uint64_t size, void*& data, Deadline deadline) {
    may_send();
    if (size > options_.capacity) {
        throw Error(NWT_INVALID, "a loan of " + std::to_string(size) +
                                     " bytes is larger than the endpoint's capacity of " +
                                     std::to_string(options_.capacity) + ": open it with more, or send a copy");
    }
    if (!find_room(1, lines(size), deadline)) {
        return false;
    }
    data = to_->out->at();
    loan_size_ = size;
    return true;
}

void Local::send_loan() {
    attend();
    if (!to_) {
        throw Error(NWT_INVALID, "no loan is out");
    }
    to_->out->show(Descriptor::make(Descriptor::kMessage, loan_size_, true), loan_size_, true);
    to_->ring();
    to_.reset();
}

void Local::drop_loan() {
    if (!to_) {
        throw Error(NWT_INVALID, "no loan is out");
    }
    to_.reset();
}

}  // namespace nodewise::transport
