// SPDX-License-Identifier: BSD-3-Clause
// A peer that shares no memory with us: each direction has a ring here and one of the same shape there, and frames
// between them carry what is written into the one into the other, and how far the reader has come back again. So
// an endpoint sees rings alone, and what is on the way is bounded by them from end to end.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "transport/hello.h"
#include "transport/link.h"

namespace nodewise::transport {

struct RemoteLink final : Link {
    std::atomic<bool> parted{false};
    void part() override {
        parted.store(true, std::memory_order_release);
        ring();
    }
};

class Relay {
  public:
    static constexpr std::uint64_t kMostBytes = 1 << 18, kMostDescriptors = 4096;  // of a frame
    static constexpr std::uint64_t kMostFrame = 32 + (8 * kMostDescriptors) + kMostBytes;
    static constexpr std::uint64_t kMostCapacity = 1 << 30, kMostSlots = 1 << 20;  // that a peer can ask for

    // `ours`: of what we write, `theirs`; all 0 where nothing is written. `keeper` wakes who moves frames. Throws where
    // there is no memory, and Error(NWT_REFUSED) for a ring that is too large.
    Relay(std::shared_ptr<RemoteLink> link, Shape ours, Shape theirs, const Bell& keeper);
    // With who has greeted us, and fits. Throws Error(NWT_REFUSED).
    static std::unique_ptr<Relay> meet(const Hello& theirs, const std::string& place, Shape ours, const Bell& keeper);
    const std::shared_ptr<RemoteLink>& link() const { return link_; }

    // Whether there is a frame to be sent now, which is written where `room` says.
    bool next_frame(const std::function<std::byte*(std::size_t)>& room);
    // One that has come; the endpoint is to be woken. Throws Damaged.
    void accept(std::span<const std::byte> frame);

    // Where this side can write into the other's memory: `bytes` in a frame at most, and from `from` on (0: never) they
    // are written straight into the other side's ring, before the frame that tells of them.
    void limit(std::uint64_t bytes, std::uint64_t descriptors, std::uint64_t from);
    struct Placed {  // what the last frame tells of, and is not in it
        std::uint64_t at = 0, bytes = 0;
    };
    Placed placed() const { return placed_; }
    // Rings whole: what the other side may write, and what we write. Empty where there is none.
    std::span<std::byte> theirs() const { return feed_ ? feed_->memory() : std::span<std::byte>(); }
    std::span<std::byte> ours() const { return link_->out ? link_->out->memory() : std::span<std::byte>(); }
    void allow_placing() { may_place_ = true; }  // the other side

  private:
    struct Head;
    bool next_data(const std::function<std::byte*(std::size_t)>& room);
    bool next_progress(const std::function<std::byte*(std::size_t)>& room);
    void accept_data(const Head& head, std::span<const std::byte> rest);
    void accept_progress(const Head& head);
    bool check(Descriptor descriptor);

    std::shared_ptr<RemoteLink> link_;
    std::unique_ptr<Reader> tap_;   // of what the endpoint writes
    std::unique_ptr<Writer> feed_;  // of what it reads
    std::uint64_t tap_piece_, feed_piece_, feed_capacity_;
    std::vector<std::uint64_t> batch_;
    std::uint64_t sent_ahead_ = 0;  // bytes of the next descriptor that went before it
    std::uint64_t come_ahead_ = 0;
    std::uint64_t open_ = 0;  // bytes of a message that are still to come
    Writer::Seen told_, heard_;
    bool told_closed_ = false;
    std::uint64_t most_bytes_ = kMostBytes, most_descriptors_ = kMostDescriptors, place_from_ = 0;
    Placed placed_;
    bool may_place_ = false;
};

}  // namespace nodewise::transport
