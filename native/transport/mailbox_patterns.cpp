// SPDX-License-Identifier: BSD-3-Clause
// Who is to have a message: publish and subscribe, request and reply.
#include <algorithm>

#include "transport/mailbox.h"

namespace nodewise::transport {

namespace {

std::string_view beginning_of(std::span<const nwt_part> parts) {
    const nwt_part& first = parts.front();
    return {static_cast<const char*>(first.data), first.data == nullptr ? 0 : static_cast<std::size_t>(first.size)};
}

}  // namespace

bool Mailbox::post(std::span<const nwt_part> parts, std::span<const std::uint64_t> sizes, Deadline& deadline) {
    Letter letter{.parts = parts, .sizes = sizes, .bytes = envelope_bytes(sizes.size())};
    for (const nwt_part& part : parts) {
        letter.bytes += part.size;
    }
    if (options_.pattern == NWT_PUBLISH) {
        letter.type = Envelope::kPublished;
        return publish(letter, deadline);
    }
    std::uint64_t descriptors = 0;
    std::uint64_t bytes = letter.bytes;
    room_to_begin(descriptors, bytes);
    const bool replies = options_.pattern == NWT_REPLY;
    if (!(replies ? find_asked(descriptors, bytes, deadline) : find_room(descriptors, bytes, deadline))) {
        return false;
    }
    const Shared link = std::exchange(to_, nullptr);
    if (options_.pattern == NWT_REQUEST) {
        letter.type = Envelope::kRequest;
        letter.number = ++request_;
        from_.reset();  // a reply to the request before, which is given up
        asked_ = link;
    } else if (replies) {
        letter.type = Envelope::kReply;
        letter.number = question_;
        asker_.reset();
    } else {
        letter.type = Envelope::kPlain;
    }
    write_letter(link, letter);
    return true;
}

// In `to_`, who asked last.
bool Mailbox::find_asked(std::uint64_t descriptors, std::uint64_t bytes, Deadline& deadline) {
    attend();
    if (!asker_) {
        throw Error(NWT_INVALID, "there is no request to reply to: it has been answered, or who asked is gone");
    }
    return waiter_.wait(deadline, [&] {
        attend();
        if (!asker_) {
            throw Error(NWT_INVALID, "who asked has closed");
        }
        if (!has_room(asker_, descriptors, bytes)) {
            return false;
        }
        to_ = asker_;
        return true;
    });
}

// A message that never fits the room of one subscriber would be left out each time.
void Mailbox::may_publish(std::uint64_t bytes) const {
    std::uint64_t descriptors = 0;
    if (!options_.wait_for_all && !room_to_begin(descriptors, bytes)) {
        throw Error(NWT_INVALID,
                    "a message that may be left out has to fit half the endpoint's capacity and slots: open it with "
                    "more of them, or with NWT_WAIT");
    }
}

bool Mailbox::publish(Letter& letter, Deadline& deadline) {
    may_publish(letter.bytes);
    if (!find_room_for_all(letter, deadline)) {
        return false;
    }
    hand_out(letter);
    return true;
}

// Where nobody is left out, once all that want it have room.
bool Mailbox::find_room_for_all(const Letter& letter, Deadline& deadline) {
    if (!options_.wait_for_all) {
        attend();
        return true;
    }
    const std::string_view beginning = beginning_of(letter.parts);
    return waiter_.wait(deadline, [&] {
        attend();
        return std::ranges::all_of(std::vector<Shared>(links_), [&](const Shared& link) {
            return !link->topics.match(beginning) || has_room_for(link, letter.bytes);
        });
    });
}

void Mailbox::hand_out(Letter& letter) {
    const std::string_view beginning = beginning_of(letter.parts);
    std::exception_ptr lost;  // of some, the others have it
    for (const Shared& link : std::vector<Shared>(links_)) {
        if (!link->topics.match(beginning)) {
            continue;
        }
        try {
            letter.number = ++link->published;
            if (options_.wait_for_all || has_room_for(link, letter.bytes)) {
                write_letter(link, letter);
            } else if (!link->gone.load(std::memory_order_relaxed)) {
                ++left_out_;
            }
        } catch (const PeerLost&) {
            lost = std::current_exception();
        }
    }
    if (lost) {
        std::rethrow_exception(lost);
    }
}

void Mailbox::attend_topics() {
    if (options_.pattern == NWT_PUBLISH) {
        for (const Shared& link : links_) {
            if (link->in->ready()) {
                // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): it may be parted from here
                const Shared kept = link;
                hear_topics(kept);
            }
        }
    } else if (options_.pattern == NWT_SUBSCRIBE) {
        for (const Shared& link : links_) {
            if (!link->changes.empty()) {
                tell_topics(link);
            }
        }
    }
}

// What a subscriber wants, and no longer wants; there is nothing else that it writes.
void Mailbox::hear_topics(const Shared& link) {
    Reader& in = *link->in;
    try {
        Descriptor found;
        while (in.next(found) && found.kind() != Descriptor::kEnd) {
            const std::uint64_t size = found.size();
            if (found.kind() != Descriptor::kMessage || !found.enveloped() || size > in.piece(size, 0)) {
                throw Damaged("it has written what is no subscription");
            }
            Envelope envelope;
            read_envelope(envelope, {in.at(), size}, size);
            const bool wanted = envelope.type == Envelope::kSubscribe;
            const std::string prefix(reinterpret_cast<const char*>(in.at()) + envelope.bytes, size - envelope.bytes);
            in.advance(size, true);
            if ((!wanted && envelope.type != Envelope::kUnsubscribe) || !link->topics.change(prefix, wanted)) {
                throw Damaged("it has written what is no subscription");
            }
        }
        link->free = in.mark();
        link->give_back(true);
    } catch (const Damaged& problem) {
        lose(link, problem.what());
    }
}

void Mailbox::tell_topics(const Shared& link) {
    while (!link->changes.empty()) {
        const Change& change = link->changes.front();
        const nwt_part prefix{.data = change.prefix.data(), .size = change.prefix.size()};
        const Letter letter{.type = change.wanted ? Envelope::kSubscribe : Envelope::kUnsubscribe,
                            .number = 0,
                            .parts = {&prefix, 1},
                            .sizes = {},
                            .bytes = envelope_bytes(0) + prefix.size};
        if (!has_room(link, 1, lines(letter.bytes))) {
            return;  // later, with the next call
        }
        write_letter(link, letter);
        link->changes.pop_front();
    }
}

void Mailbox::subscribe(std::string_view prefix, bool wanted) {
    if (options_.pattern != NWT_SUBSCRIBE) {
        throw Error(NWT_INVALID, "only an endpoint that subscribes has subscriptions");
    }
    if (prefix.size() > NWT_MAX_TOPIC || envelope_bytes(0) + prefix.size() > piece_) {
        throw Error(NWT_INVALID, "what is subscribed to is at most 4096 bytes, and an eighth of the capacity");
    }
    attend();
    if (!topics_.change(prefix, wanted)) {
        throw Error(NWT_INVALID, wanted ? "there are too many subscriptions" : "this was not subscribed to");
    }
    for (const Shared& link : links_) {
        link->changes.push_back({.prefix = std::string(prefix), .wanted = wanted});
    }
    attend_topics();
}

// Whether the message that is found, of a kind that our pattern reads, is to be handed on; else it has been dropped.
bool Mailbox::is_for_us(const Shared& link) {
    const auto need = [&](bool right) {
        if (!right) {
            lose(link, "it has written what an endpoint of its pattern does not");
        }
    };
    const std::uint32_t type = envelope_.type;
    switch (options_.pattern) {
        case NWT_PULL:
            need(envelope_.bytes == 0 || type == Envelope::kPlain);
            return true;
        case NWT_SUBSCRIBE:
            need(type == Envelope::kPublished && envelope_.number > link->published);
            left_out_ += envelope_.number - link->published - 1;
            link->published = envelope_.number;
            return true;
        case NWT_REPLY:
            need(type == Envelope::kRequest);
            return true;
        default:
            need(type == Envelope::kReply && envelope_.number <= request_);
            if (envelope_.number == request_ && asked_ == link) {
                return true;
            }
            discard(link);
            return false;
    }
}

}  // namespace nodewise::transport
