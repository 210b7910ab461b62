// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mailbox.h"

namespace nodewise::transport {

void Mailbox::may_send() const {
    if (!writes(options_.pattern) || options_.pattern == NWT_SUBSCRIBE) [[unlikely]] {
        throw Error(NWT_INVALID, std::string("an endpoint that ") +
                                     (options_.pattern == NWT_PULL ? "pulls" : "subscribes") + " does not send");
    }
    if (to_ || staged_) [[unlikely]] {
        throw Error(NWT_INVALID, "a loan is out: send or drop it first");
    }
}

bool Mailbox::has_room(const Shared& link, std::uint64_t descriptors, std::uint64_t bytes) {
    try {
        return link->out->room(descriptors, bytes) && !link->gone.load(std::memory_order_relaxed);
    } catch (const Damaged& problem) {
        lose(link, problem.what());
    }
}

// What has to be there before a message of so many bytes is begun: a message that does not fit half the ring begins
// with a piece. Whether it fits.
bool Mailbox::room_to_begin(std::uint64_t& descriptors, std::uint64_t& bytes) const {
    const std::uint64_t pieces = bytes <= piece_ ? 1 : (bytes + piece_ - 1) / piece_;
    const bool fits = pieces <= options_.slots / 2 && lines(bytes) <= options_.capacity / 2;
    descriptors = fits ? pieces : 1;
    bytes = fits ? lines(bytes) : piece_;
    return fits;
}

bool Mailbox::has_room_for(const Shared& link, std::uint64_t bytes) {
    std::uint64_t descriptors = 0;
    room_to_begin(descriptors, bytes);
    return has_room(link, descriptors, bytes);
}

// In `to_`, the peer whose turn it is of those with room.
bool Mailbox::find_room(std::uint64_t descriptors, std::uint64_t bytes, Deadline& deadline) {
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

bool Mailbox::send(const void* data, std::uint64_t size, Deadline deadline) {
    may_send();
    if (options_.pattern != NWT_PUSH) {
        const nwt_part whole{.data = data, .size = size};
        return post({&whole, 1}, {}, deadline);
    }
    std::uint64_t descriptors = 0;
    std::uint64_t bytes = size;
    room_to_begin(descriptors, bytes);
    if (!find_room(descriptors, bytes, deadline)) {
        return false;
    }
    write_message(std::exchange(to_, nullptr), static_cast<const std::byte*>(data), size);
    return true;
}

bool Mailbox::send_parts(std::span<const nwt_part> parts, Deadline deadline) {
    may_send();
    std::vector<std::uint64_t> sizes;
    sizes.reserve(parts.size());
    std::uint64_t whole = 0;
    for (const nwt_part& part : parts) {
        whole += part.size;
        if (part.size > NWT_MAX_SIZE || whole > NWT_MAX_SIZE) {
            throw Error(NWT_INVALID, "the parts of a message are at most 2147483648 bytes together");
        }
        sizes.push_back(part.size);
    }
    if (envelope_bytes(parts.size()) > piece_) {
        throw Error(NWT_INVALID, "so many parts need a larger capacity: open the endpoint with " +
                                     std::to_string(16 * envelope_bytes(parts.size())));
    }
    return post(parts, sizes, deadline);
}

void Mailbox::write_message(const Shared& link, const std::byte* from, std::uint64_t size) {
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

// The envelope, which fits the first piece, and then the parts one behind the other.
void Mailbox::write_letter(const Shared& link, const Letter& letter) {
    Writer& out = *link->out;
    std::uint64_t done = 0;
    std::size_t part = 0;
    std::uint64_t within = 0;
    do {
        const std::uint64_t piece = letter.bytes - done < piece_ ? letter.bytes - done : piece_;
        if (!out.has(1, lines(piece))) {
            wait_on(link, [&] { return out.room(1, lines(piece)); });
        }
        std::byte* to = out.at();
        std::uint64_t filled = 0;
        if (done == 0) {
            write_envelope(to, letter.type, letter.number, letter.sizes);
            filled = envelope_bytes(letter.sizes.size());
        }
        while (filled < piece) {
            const nwt_part& from = letter.parts[part];
            const std::uint64_t bytes = std::min(piece - filled, from.size - within);
            copy(to + filled, static_cast<const std::byte*>(from.data) + within, bytes);
            filled += bytes;
            within += bytes;
            if (within == from.size) {
                ++part;
                within = 0;
            }
        }
        const std::uint64_t descriptor = done == 0 ? Descriptor::make(Descriptor::kMessage, letter.bytes, false, true)
                                                   : Descriptor::make(Descriptor::kRest, piece, false);
        done += piece;
        out.show(descriptor, piece, done == letter.bytes);
        link->ring();
    } while (done < letter.bytes);
}

bool Mailbox::loan(std::uint64_t size, void*& data, Deadline deadline) {
    may_send();
    const std::uint64_t before = options_.pattern == NWT_PUSH ? 0 : envelope_bytes(0);
    if (size > options_.capacity - before) {
        throw Error(NWT_INVALID, "a loan of " + std::to_string(size) +
                                     " bytes is larger than the endpoint's capacity of " +
                                     std::to_string(options_.capacity) + ": open it with more, or send a copy");
    }
    if (options_.pattern == NWT_PUBLISH) {
        may_publish(before + size);
        staged_ = std::make_unique_for_overwrite<std::byte[]>(size + 1);
        data = staged_.get();
    } else {
        const bool found = options_.pattern == NWT_REPLY ? find_asked(1, lines(before + size), deadline)
                                                         : find_room(1, lines(before + size), deadline);
        if (!found) {
            return false;
        }
        data = to_->out->at() + before;
    }
    loan_size_ = size;
    return true;
}

void Mailbox::send_loan() {
    if (staged_) {
        const nwt_part whole{.data = staged_.get(), .size = loan_size_};
        Letter letter{
            .type = Envelope::kPublished, .parts = {&whole, 1}, .sizes = {}, .bytes = envelope_bytes(0) + loan_size_};
        Deadline never(NWT_FOREVER);
        find_room_for_all(letter, never);  // interrupted here the loan is still out
        const std::unique_ptr<std::byte[]> bytes = std::move(staged_);
        hand_out(letter);
        return;
    }
    attend();
    if (!to_) {
        throw Error(NWT_INVALID, "no loan is out");
    }
    const Shared link = std::exchange(to_, nullptr);
    if (options_.pattern == NWT_PUSH) {
        link->out->show(Descriptor::make(Descriptor::kMessage, loan_size_, true), loan_size_, true);
    } else {
        const bool asks = options_.pattern == NWT_REQUEST;
        write_envelope(link->out->at(), asks ? Envelope::kRequest : Envelope::kReply, asks ? ++request_ : question_,
                       {});
        const std::uint64_t size = envelope_bytes(0) + loan_size_;
        link->out->show(Descriptor::make(Descriptor::kMessage, size, true, true), size, true);
        if (asks) {
            from_.reset();
            asked_ = link;
        } else {
            asker_.reset();
        }
    }
    link->ring();
}

void Mailbox::drop_loan() {
    if (!to_ && !staged_) {
        throw Error(NWT_INVALID, "no loan is out");
    }
    to_.reset();
    staged_.reset();
}

}  // namespace nodewise::transport
