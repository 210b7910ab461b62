// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "transport/local.h"

namespace nodewise::transport {

// In `from_` and `found_`, the next message.
bool Local::find(Deadline& deadline) {
    if (writes(options_.pattern)) [[unlikely]] {
        throw Error(NWT_INVALID, "an endpoint that pushes does not receive");
    }
    if (from_) {
        return true;
    }
    attend();
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

bool Local::look() {
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

bool Local::look_at(const Shared& link) {
    if (!link->in->next(found_) || found_.kind() == Descriptor::kEnd) {
        return false;
    }
    const bool fits = found_.whole() ? found_.size() <= link->in->capacity() : found_.size() <= NWT_MAX_SIZE;
    if (found_.kind() != Descriptor::kMessage || found_.size() > NWT_MAX_SIZE || !fits) {
        lose(link, "it has written what is no message");
    }
    return true;
}

bool Local::peek(std::uint64_t& size, Deadline deadline) {
    if (!find(deadline)) {
        return false;
    }
    size = found_.size();
    return true;
}

// Each piece of the message found, as it comes. `keep`: what lies in the ring stays there until it is given back.
template <typename Take>
void Local::take_pieces(const Shared& link, bool keep, Take take) {
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

bool Local::copied_fits(const Link& link) const {
    return found_.whole() || link.views.empty() || link.in->fits(link.in->pieces(found_.size()), found_.size());
}

bool Local::receive(void* buffer, std::uint64_t room, std::uint64_t& size, Deadline deadline) {
    if (!find(deadline)) {
        return false;
    }
    size = found_.size();
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
    take_pieces(link, !alone,
                [&](const std::byte* piece, std::uint64_t at, std::uint64_t bytes) { copy(to + at, piece, bytes); });
    if (alone) {
        link->free = link->in->mark();
        link->give_back(false);
    } else {
        link->views.add(link->in->mark(), false, nullptr);
    }
    return true;
}

bool Local::receive_loan(nwt_view& view, Deadline deadline) {
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
    view = {
        .data = data, .size = size, .peer = link->serial, .ticket = link->views.add(in.mark(), true, std::move(own))};
    ++views_;
    return true;
}

void Local::give_back(const nwt_view& view) {
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
