// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "transport/mailbox.h"

namespace nodewise::transport {

// In `from_` and `found_`, the next message.
bool Mailbox::find(Deadline& deadline) {
    if (options_.pattern == NWT_PUSH || options_.pattern == NWT_PUBLISH) [[unlikely]] {
        throw Error(NWT_INVALID, std::string("an endpoint that ") +
                                     (options_.pattern == NWT_PUSH ? "pushes" : "publishes") + " does not receive");
    }
    if (from_) {
        return true;
    }
    attend();
    if (options_.pattern == NWT_REQUEST && !asked_) [[unlikely]] {
        throw Error(NWT_INVALID, "no request is out: send one first");
    }
    if (look()) {
        return true;
    }
    for (const Shared& link : links_) {
        link->give_back(true);  // who waits for room, or for the last confirmation, is not to wait for us
    }
    return waiter_.wait(deadline, [&] {
        attend();
        return look();
    });
}

bool Mailbox::look() {
    for (std::size_t i = 0; i < links_.size(); ++i) {
        const std::size_t at = next_ + i < links_.size() ? next_ + i : (next_ + i) % links_.size();
        const Shared& link = links_[at];
        if (look_at(link)) {
            from_ = link;
            next_ = at + 1 < links_.size() ? at + 1 : 0;
            return true;
        }
        if (link->gone.load(std::memory_order_acquire) && settle(link)) {
            return look();
        }
    }
    return false;
}

bool Mailbox::look_at(const Shared& link) {
    while (true) {
        if (!link->in->next(found_) || found_.kind() == Descriptor::kEnd) {
            return false;
        }
        const std::uint64_t most = NWT_MAX_SIZE + (found_.enveloped() ? envelope_bytes(NWT_MAX_PARTS) : 0);
        const bool fits = found_.size() <= (found_.whole() ? link->in->capacity() : most);
        if (found_.kind() != Descriptor::kMessage || found_.size() > most || !fits) {
            lose(link, "it has written what is no message");
        }
        if (!found_.enveloped() && options_.pattern == NWT_PULL) [[likely]] {
            envelope_.bytes = 0;
            return true;
        }
        open_envelope(link);
        if (is_for_us(link)) {
            return true;
        }
    }
}

// Read once: what is in the peer's memory may change.
void Mailbox::open_envelope(const Shared& link) {
    envelope_ = {};
    if (!found_.enveloped()) {
        return;
    }
    const std::uint64_t size = found_.size();
    try {
        read_envelope(envelope_, {link->in->at(), found_.whole() ? size : link->in->piece(size, 0)}, size);
    } catch (const Damaged& problem) {
        lose(link, problem.what());
    }
}

bool Mailbox::peek(std::uint64_t& size, Deadline deadline) {
    if (!find(deadline)) {
        return false;
    }
    size = found_.size() - envelope_.bytes;
    whole_ = size;
    parts_ = envelope_.bytes == 0 ? std::vector<std::uint64_t>{} : envelope_.sizes;
    return true;
}

// Each piece of the message found, as it comes. `keep`: what lies in the ring stays there until it is given back.
template <typename Take>
void Mailbox::take_pieces(const Shared& link, bool keep, Take take) {
    Reader& in = *link->in;
    const std::uint64_t size = found_.size();
    try {
        if (found_.whole()) {
            take(in.at(), 0, size);
            in.advance(size, true);
            return;
        }
        std::uint64_t done = 0;
        while (true) {
            const std::uint64_t piece = in.piece(size, done);
            take(in.at(), done, piece);
            done += piece;
            in.advance(piece, done == size);
            if (done == size) {
                return;
            }
            if (!keep) {
                link->free = in.mark();
                link->give_back(false);
            }
            Descriptor rest;
            if (!in.next(rest)) {
                wait_on(link, [&] { return in.next(rest); });
            }
            if (rest.kind() != Descriptor::kRest || rest.whole() || rest.size() != in.piece(size, done)) {
                throw Damaged("it has written what is no piece of its message");
            }
        }
    } catch (const Damaged& problem) {
        lose(link, problem.what());
    }
}

bool Mailbox::copied_fits(const Link& link) const {
    return found_.whole() || link.views.empty() || link.in->fits(link.in->pieces(found_.size()), found_.size());
}

bool Mailbox::receive(void* buffer, std::uint64_t room, std::uint64_t& size, Deadline deadline) {
    if (!find(deadline)) {
        return false;
    }
    const std::uint64_t before = envelope_.bytes;
    size = found_.size() - before;
    if (size > room) {
        throw Error(NWT_TOO_SMALL,
                    "the message has " + std::to_string(size) + " bytes, the buffer " + std::to_string(room));
    }
    const Shared link = std::move(from_);
    from_ = nullptr;
    const bool alone = link->views.empty();
    if (!copied_fits(*link)) {
        from_ = link;
        throw Error(NWT_INVALID, "views are out, and a message of " + std::to_string(size) +
                                     " bytes needs their room: give them back first");
    }
    auto* to = static_cast<std::byte*>(buffer);
    take_pieces(link, !alone, [&](const std::byte* piece, std::uint64_t at, std::uint64_t bytes) {
        // the envelope fits the first piece
        const std::uint64_t skipped = at == 0 ? before : 0;
        copy(to + (at + skipped - before), piece + skipped, bytes - skipped);
    });
    taken(link, alone);
    return true;
}

// A message has been copied: its room goes back, now or after that of the views before it.
void Mailbox::taken(const Shared& link, bool alone) {
    if (alone) {
        link->free = link->in->mark();
        link->give_back(false);
    } else {
        link->views.add(link->in->mark(), false, nullptr);
    }
    handed_over(link);
}

void Mailbox::handed_over(const Shared& link) {
    whole_ = found_.size() - envelope_.bytes;
    if (options_.pattern == NWT_PULL && envelope_.bytes == 0 && parts_.empty()) [[likely]] {
        return;
    }
    parts_.clear();
    if (envelope_.bytes != 0) {
        parts_.swap(envelope_.sizes);
    }
    if (options_.pattern == NWT_REPLY) {
        asker_ = link;
        question_ = envelope_.number;
    } else if (options_.pattern == NWT_REQUEST) {
        asked_.reset();
    }
}

// A reply that comes too late.
void Mailbox::discard(const Shared& link) {
    const bool alone = link->views.empty();
    if (!copied_fits(*link)) {
        lose(link, "its reply to a request that was given up needs the room of views that are out");
    }
    take_pieces(link, !alone, [](const std::byte*, std::uint64_t, std::uint64_t) {});
    if (alone) {
        link->free = link->in->mark();
        link->give_back(false);
    } else {
        link->views.add(link->in->mark(), false, nullptr);
    }
}

bool Mailbox::receive_loan(nwt_view& view, Deadline deadline) {
    if (!find(deadline)) {
        return false;
    }
    const Shared link = std::move(from_);
    from_ = nullptr;
    Reader& in = *link->in;
    const std::uint64_t size = found_.size();
    link->give_back(!found_.whole() && size > piece_);
    const bool in_place = found_.whole() || in.fits(in.pieces(size), size);
    if (!in_place && !link->views.empty()) {
        from_ = link;
        throw Error(NWT_INVALID, "views are out, and a message of " + std::to_string(size) +
                                     " bytes needs their room: give them back first");
    }
    std::unique_ptr<std::byte[]> own;
    const std::byte* data = in.at();
    if (in_place) {
        take_pieces(link, true, [](const std::byte*, std::uint64_t, std::uint64_t) {});
    } else {
        try {
            own = std::make_unique_for_overwrite<std::byte[]>(size);
        } catch (const std::bad_alloc&) {
            from_ = link;
            throw;
        }
        data = own.get();
        take_pieces(link, false, [&](const std::byte* piece, std::uint64_t at, std::uint64_t bytes) {
            copy(own.get() + at, piece, bytes);
        });
    }
    view = {.data = data + envelope_.bytes,
            .size = size - envelope_.bytes,
            .peer = link->serial,
            .ticket = link->views.add(in.mark(), true, std::move(own))};
    ++views_;
    handed_over(link);
    return true;
}

void Mailbox::give_back(const nwt_view& view) {
    for (std::vector<Shared>* links : {&links_, &parted_}) {
        const auto found = std::ranges::find_if(*links, [&](const Shared& link) { return link->serial == view.peer; });
        if (found == links->end() || !(*found)->views.is_out(view.ticket)) {
            continue;
        }
        Link& link = **found;
        --views_;
        if (const auto moved = link.views.give_back(view.ticket)) {
            link.free = *moved;
            link.give_back(false);
        }
        if (links == &parted_ && link.views.empty()) {
            parted_.erase(found);
        }
        return;
    }
    throw Error(NWT_INVALID, "this view is not out");
}

}  // namespace nodewise::transport
