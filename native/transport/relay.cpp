// SPDX-License-Identifier: BSD-3-Clause
#include "transport/relay.h"

#include <fcntl.h>

#include <algorithm>
#include <bit>

#include "transport/envelope.h"

namespace nodewise::transport {

static_assert(std::endian::native == std::endian::little, "frames hold numbers as this machine does");

namespace {

enum : std::uint32_t { kData = 1, kProgress = 2, kPlaced = 3 };

// Bytes in the ring of what a descriptor stands for.
std::uint64_t bytes_of(Descriptor descriptor, std::uint64_t piece) {
    if (descriptor.kind() == Descriptor::kEnd) {
        return 0;
    }
    const bool begins = descriptor.kind() == Descriptor::kMessage && !descriptor.whole();
    return begins ? std::min(descriptor.size(), piece) : descriptor.size();
}

}  // namespace

struct Relay::Head {
    std::uint32_t type = 0;
    std::uint32_t count = 0;  // of descriptors; or 1: the reader has closed
    std::uint64_t a = 0;      // bytes; or descriptors taken
    std::uint64_t b = 0;      // bytes freed
    std::uint64_t c = 0;      // messages confirmed
};

Relay::Relay(std::shared_ptr<RemoteLink> link, Shape ours, Shape theirs, const Bell& keeper)
    : link_(std::move(link)), tap_piece_(ours.piece()), feed_piece_(theirs.piece()), feed_capacity_(theirs.capacity) {
    static_assert(sizeof(Head) == 32);
    if (theirs.capacity > kMostCapacity || theirs.slots > kMostSlots) {
        throw Error(
            NWT_REFUSED,
            "over sockets and libfabric the capacity is at most 1073741824 bytes, and there are at most 1048576 slots");
    }
    if (ours.slots != 0) {
        link_->out = std::make_unique<Writer>(ours);
        tap_ = std::make_unique<Reader>(link_->out->fd(), ours);
        link_->out->forget_fd();
    }
    if (theirs.slots != 0) {
        feed_ = std::make_unique<Writer>(theirs);
        link_->in = std::make_unique<Reader>(feed_->fd(), theirs);
        feed_->forget_fd();
    }
    Fd event(checked(fcntl(keeper.event().get(), F_DUPFD_CLOEXEC, 0), "duplicating a descriptor"));
    link_->bell = std::make_unique<Bell>(keeper.fd(), std::move(event));
    link_->fenced = !takes_part_in_barriers();
}

std::unique_ptr<Relay> Relay::meet(const Hello& theirs, const std::string& place, Shape ours, const Bell& keeper) {
    if (!theirs.refusal.empty()) {
        throw Error(NWT_REFUSED, "the other side refuses: " + theirs.refusal);
    }
    if ((theirs.shape.slots != 0) != writes(theirs.pattern)) {
        throw Error(NWT_REFUSED, "the other side's greeting is damaged");
    }
    auto link = std::make_shared<RemoteLink>();
    link->pid = theirs.pid;
    link->place = place;
    return std::make_unique<Relay>(std::move(link), ours, theirs.shape, keeper);
}

void Relay::limit(std::uint64_t bytes, std::uint64_t descriptors, std::uint64_t from) {
    most_bytes_ = std::min(bytes, kMostBytes);
    most_descriptors_ = std::min(descriptors, kMostDescriptors);
    place_from_ = from;
}

bool Relay::next_frame(const std::function<std::byte*(std::size_t)>& room) {
    return (tap_ && next_data(room)) || (feed_ && next_progress(room));
}

// Descriptors, and the bytes that belong to them as they lie in the ring, in the frame or already there; of one that is
// too long for a frame the bytes go ahead.
bool Relay::next_data(const std::function<std::byte*(std::size_t)>& room) {
    const std::byte* from = tap_->at() + sent_ahead_;
    const std::uint64_t at = tap_->offset() + sent_ahead_;
    const std::uint64_t most = place_from_ == 0 ? most_bytes_ : kMostBytes;
    std::uint64_t bytes = 0;
    batch_.clear();
    placed_ = {};
    Descriptor next;
    while (batch_.size() < most_descriptors_ && tap_->next(next)) {
        const std::uint64_t size = bytes_of(next, tap_piece_);
        const std::uint64_t more = lines(size) - sent_ahead_;
        if (bytes + more > most) {
            if (!batch_.empty()) {
                break;
            }
            sent_ahead_ += most;
            bytes = most;
            break;
        }
        bytes += more;
        sent_ahead_ = 0;
        batch_.push_back(next.plain());
        tap_->advance(size, false);
    }
    if (bytes == 0 && batch_.empty()) {
        return false;
    }
    const bool apart = place_from_ != 0 && bytes >= std::min(place_from_, most_bytes_ + 1);
    const Head head{.type = apart ? kPlaced : kData, .count = static_cast<std::uint32_t>(batch_.size()), .a = bytes};
    std::byte* to = room(sizeof head + (8 * batch_.size()) + (apart ? 0 : bytes));
    std::memcpy(to, &head, sizeof head);
    if (!batch_.empty()) {
        std::memcpy(to + sizeof head, batch_.data(), 8 * batch_.size());
    }
    if (apart) {
        placed_ = {.at = at, .bytes = bytes};
    } else if (bytes != 0) {
        std::memcpy(to + sizeof head + (8 * batch_.size()), from, bytes);
    }
    return true;
}

bool Relay::next_progress(const std::function<std::byte*(std::size_t)>& room) {
    const bool closed = feed_->reader_closed();  // first: it is what the reader writes last
    const Writer::Seen seen = feed_->seen();
    if (seen == told_ && closed == told_closed_) {
        return false;
    }
    told_ = seen;
    told_closed_ = closed;
    placed_ = {};
    const Head head{.type = kProgress, .count = closed ? 1U : 0U, .a = seen.taken, .b = seen.freed, .c = seen.messages};
    std::memcpy(room(sizeof head), &head, sizeof head);
    return true;
}

void Relay::accept(std::span<const std::byte> frame) {
    Head head;
    if (frame.size() < sizeof head) {
        throw Damaged("it has sent what is no frame");
    }
    std::memcpy(&head, frame.data(), sizeof head);
    if ((head.type == kData || (head.type == kPlaced && may_place_)) && feed_) {
        accept_data(head, frame.subspan(sizeof head));
    } else if (head.type == kProgress && tap_ && frame.size() == sizeof head) {
        accept_progress(head);
    } else {
        throw Damaged("it has sent what is no frame");
    }
}

void Relay::accept_data(const Head& head, std::span<const std::byte> rest) {
    const std::uint64_t first = 8 * std::uint64_t{head.count};
    const std::uint64_t here = head.type == kData ? head.a : 0;
    if (head.a > kMostBytes || head.count > kMostDescriptors || rest.size() != first + here || head.a % 64 != 0) {
        throw Damaged("it has sent a frame of another length than it says");
    }
    if (!feed_->room(head.count, come_ahead_ + head.a)) {
        throw Damaged("it has sent more than there is room for");
    }
    if (here != 0) {
        std::memcpy(feed_->at() + come_ahead_, rest.data() + first, here);
    }
    come_ahead_ += head.a;
    for (std::uint64_t at = 0; at < first; at += 8) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, rest.data() + at, sizeof bits);
        const Descriptor descriptor(bits);
        const bool ends = check(descriptor);
        const std::uint64_t bytes = bytes_of(descriptor, feed_piece_);
        if ((bits & Descriptor::kLap) != 0 || bytes > feed_capacity_ || lines(bytes) > come_ahead_) {
            throw Damaged("it has sent a message without its bytes");
        }
        come_ahead_ -= lines(bytes);
        feed_->show(bits, bytes, ends);
    }
}

// Whether a message ends with it.
bool Relay::check(Descriptor descriptor) {
    const std::uint64_t size = descriptor.size();
    if (descriptor.kind() == Descriptor::kRest && !descriptor.whole() && open_ != 0 &&
        size == std::min(open_, feed_piece_)) {
        open_ -= size;
        return open_ == 0;
    }
    const std::uint64_t most = NWT_MAX_SIZE + envelope_bytes(NWT_MAX_PARTS);
    if (open_ != 0 || size > most ||
        (descriptor.kind() != Descriptor::kMessage && descriptor.kind() != Descriptor::kEnd)) {
        throw Damaged("it has sent what is no piece of its message");
    }
    const std::uint64_t here = bytes_of(descriptor, feed_piece_);
    open_ = descriptor.kind() == Descriptor::kEnd ? 0 : size - here;
    return descriptor.kind() == Descriptor::kMessage && open_ == 0;
}

void Relay::accept_progress(const Head& head) {
    const Reader::Mark sent = tap_->mark();
    // each goes forward only, and never beyond us; of messages the endpoint itself knows how many there were
    if (head.count > 1 || head.a < heard_.taken || head.a > sent.read || head.b < heard_.freed ||
        head.b > sent.position || head.c < heard_.messages) {
        throw Damaged("it says that it has taken what was never sent");
    }
    heard_ = {head.a, head.b, head.c};
    tap_->give_back({.read = head.a, .position = head.b, .messages = head.c});
    if (head.count == 1) {
        tap_->close();
    }
}

}  // namespace nodewise::transport
