// SPDX-License-Identifier: BSD-3-Clause
// One direction between two endpoints: a ring of descriptors and a ring of bytes in shared memory, one writer, one
// reader.
//
// A message's bytes follow those of the one before it, from a cache line on; a descriptor says how many they are. It is
// valid once its lap bit is that of the reader's lap, so that no counter need be shared: a message is visible as soon
// as it is written, and what the reader polls is what it needs. A long message is sent in pieces, so that both sides
// work on it at once. The reader tells how far it is in one line of its own, which the writer reads only when its last
// copy says full. Nothing that the other side can write is read twice or trusted: the writer's memory is what the
// writer keeps for itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "transport/error.h"
#include "transport/segment.h"

namespace nodewise::transport {

struct Shape {
    std::uint64_t capacity = 0;  // bytes, a power of two
    std::uint64_t slots = 0;     // descriptors, a power of two

    bool valid() const;
    std::uint64_t descriptor_bytes() const { return slots * 8 < kPage ? kPage : slots * 8; }
    std::uint64_t segment_bytes() const { return kPage + descriptor_bytes() + capacity; }
    std::uint64_t piece() const { return capacity / 8 < kLargestPiece ? capacity / 8 : kLargestPiece; }

    static constexpr std::uint64_t kLargestPiece = 32768;
};

constexpr std::uint64_t lines(std::uint64_t bytes) { return (bytes + 63) & ~std::uint64_t{63}; }

// What the reader writes.
struct Progress {
    alignas(128) std::atomic<std::uint64_t> taken;   // descriptors
    std::atomic<std::uint64_t> freed;                // bytes
    std::atomic<std::uint64_t> messages;             // whole ones
    alignas(128) std::atomic<std::uint32_t> closed;  // 1: it reads no more
};

class Descriptor {
  public:
    // a message or its beginning, what follows of it, the end of all
    enum Kind : std::uint8_t { kMessage = 0, kRest = 1, kEnd = 2 };
    // `whole`: the message lies in one piece whatever its size. `enveloped`: it begins with an envelope.
    static constexpr std::uint64_t make(Kind kind, std::uint64_t size, bool whole, bool enveloped = false) {
        return size | (std::uint64_t{enveloped} << 59) | (std::uint64_t{whole} << 60) | (std::uint64_t{kind} << 61);
    }
    Descriptor() = default;
    explicit Descriptor(std::uint64_t bits) : bits_(bits) {}
    int kind() const { return static_cast<int>((bits_ >> 61) & 3); }
    bool whole() const { return ((bits_ >> 60) & 1) != 0; }
    bool enveloped() const { return ((bits_ >> 59) & 1) != 0; }
    std::uint64_t size() const { return bits_ & ((std::uint64_t{1} << 59) - 1); }
    std::uint64_t plain() const { return bits_ & ~kLap; }  // as it was made
    static constexpr std::uint64_t kLap = std::uint64_t{1} << 63;

  private:
    std::uint64_t bits_ = 0;
};

class Writer {
  public:
    explicit Writer(Shape shape);
    const Fd& fd() const { return fd_; }
    void forget_fd() { fd_.reset(); }
    std::uint64_t piece() const { return piece_; }

    // Whether so much can be written now; looks at the reader's progress only where the last look says no.
    bool room(std::uint64_t descriptors, std::uint64_t bytes) {
        return has(descriptors, bytes) || (look(), has(descriptors, bytes));
    }
    // As it was at the last look.
    bool has(std::uint64_t descriptors, std::uint64_t bytes) const {
        return sent_ + descriptors - taken_ <= shape_.slots && position_ + bytes - freed_ <= shape_.capacity;
    }

    // Where the next bytes go, in one piece.
    std::byte* at() const { return data_.data() + (position_ & mask_); }
    // All of them: the ring twice in a row.
    std::span<std::byte> memory() const { return {data_.data(), 2 * shape_.capacity}; }

    // Shows what was written there; `ends`: the message ends with it.
    void show(std::uint64_t descriptor, std::uint64_t bytes, bool ends) {
        position_ += lines(bytes);
        messages_ += std::uint64_t{ends};
        const std::uint64_t lap = (sent_ & shape_.slots) != 0 ? 0 : Descriptor::kLap;
        descriptors_[sent_ & (shape_.slots - 1)].store(descriptor | lap, std::memory_order_release);
        ++sent_;
    }

    std::uint64_t unconfirmed() {
        look();
        return messages_ - confirmed_;
    }
    struct Seen {  // how far the reader has come
        std::uint64_t taken = 0, freed = 0, messages = 0;
        bool operator==(const Seen&) const = default;
    };
    Seen seen() {
        look();
        return {taken_, freed_, confirmed_};
    }
    bool reader_closed() const { return progress_->closed.load(std::memory_order_acquire) != 0; }

  private:
    void look();

    Shape shape_;
    std::uint64_t mask_, piece_;
    std::uint64_t sent_ = 0, position_ = 0, messages_ = 0;  // ours
    std::uint64_t taken_ = 0, freed_ = 0, confirmed_ = 0;   // the reader's, as last seen
    Progress* progress_ = nullptr;
    std::atomic<std::uint64_t>* descriptors_ = nullptr;
    Fd fd_;
    Mapping head_, data_;
};

class Reader {
  public:
    Reader(const Fd& fd, Shape shape);  // throws Damaged
    // How much of a message of so many bytes, of which `done` are here, comes next.
    std::uint64_t piece(std::uint64_t size, std::uint64_t done) const {
        return size - done < piece_ ? size - done : piece_;
    }
    std::uint64_t pieces(std::uint64_t size) const { return size <= piece_ ? 1 : (size + piece_ - 1) / piece_; }
    std::uint64_t capacity() const { return shape_.capacity; }
    // Whether so much can come without the writer's having to wait for what we hold.
    bool fits(std::uint64_t descriptors, std::uint64_t bytes) const {
        return lines(bytes) <= shape_.capacity - (position_ - freed_) && descriptors <= shape_.slots - (read_ - taken_);
    }

    // The descriptor that is next, if there is one.
    bool ready() const { return valid(descriptors_[read_ & (shape_.slots - 1)].load(std::memory_order_acquire)); }
    bool next(Descriptor& found) const {
        const std::uint64_t bits = descriptors_[read_ & (shape_.slots - 1)].load(std::memory_order_acquire);
        found = Descriptor(bits);
        return valid(bits);
    }
    const std::byte* at() const { return data_.data() + (position_ & mask_); }
    std::uint64_t offset() const { return position_ & mask_; }  // of at()

    // Goes behind one descriptor and its bytes, which stay ours until give_back.
    void advance(std::uint64_t bytes, bool ends) {
        const std::uint64_t whole = lines(bytes);
        if (whole > shape_.capacity - (position_ - freed_)) {
            throw Damaged("the peer has sent more than there is room for");
        }
        position_ += whole;
        ++read_;
        messages_ += std::uint64_t{ends};
    }

    struct Mark {  // how far the reader has come
        std::uint64_t read, position, messages;
    };
    Mark mark() const { return {read_, position_, messages_}; }
    bool behind(const Mark& mark) const { return mark.read != taken_; }
    bool far_behind(const Mark& mark) const {
        return mark.position - freed_ >= shape_.capacity / kSteps || mark.read - taken_ >= shape_.slots / kSteps;
    }
    void give_back(const Mark& mark) {
        freed_ = mark.position;
        taken_ = mark.read;
        progress_->messages.store(mark.messages, std::memory_order_relaxed);
        progress_->freed.store(mark.position, std::memory_order_relaxed);
        progress_->taken.store(mark.read, std::memory_order_release);
    }
    void close() { progress_->closed.store(1, std::memory_order_release); }

  private:
    static constexpr std::uint64_t kSteps = 32;  // in which room is given back, so that its line is seldom taken away
    bool valid(std::uint64_t bits) const { return ((bits & Descriptor::kLap) != 0) == ((read_ & shape_.slots) == 0); }

    Shape shape_;
    std::uint64_t mask_, piece_;
    std::uint64_t read_ = 0, position_ = 0, messages_ = 0, freed_ = 0, taken_ = 0;
    Progress* progress_ = nullptr;
    const std::atomic<std::uint64_t>* descriptors_ = nullptr;
    Mapping progress_page_, descriptor_pages_, data_;
};

// Faster than memcpy for what fits the first cache.
inline void copy(void* to, const void* from, std::uint64_t bytes) {
    if (bytes > 16384 || bytes < 64) {
        if (bytes != 0) {
            std::memcpy(to, from, bytes);
        }
        return;
    }
    auto* out = static_cast<std::byte*>(to);
    const auto* in = static_cast<const std::byte*>(from);
    std::uint64_t done = 0;
    for (; done + 64 <= bytes; done += 64) {
        std::memcpy(out + done, in + done, 64);
    }
    std::memcpy(out + done, in + done, bytes - done);
}

}  // namespace nodewise::transport
