// SPDX-License-Identifier: BSD-3-Clause
// The floor: a ring, and a pool of slots, in shared memory, that do nothing but hand messages over.
#include <bit>

#include "bare.h"
#include "progress.h"

namespace transport {
namespace {

// A loop of such moves is faster than memcpy for what fits the first cache.
void copy(Byte* to, const Byte* from, std::uint64_t bytes) {
    constexpr std::uint64_t kLine = 64;
    constexpr std::uint64_t kSmall = 16384;
    std::uint64_t done = 0;
    for (; bytes <= kSmall && done + kLine <= bytes; done += kLine) {
        std::memcpy(to + done, from + done, kLine);
    }
    std::memcpy(to + done, from + done, bytes - done);
}

struct Head {
    Progress sent, taken;
};
constexpr std::uint64_t kHead = 4096;
static_assert(sizeof(Head) <= kHead);

// What shows some at a time, and gives room back in steps.
class Counted {
  public:
    Counted(Side& side, bool sends, std::uint64_t batch)
        : head_memory_(met(side, sends, kHead)),
          head_(*reinterpret_cast<Head*>(head_memory_->data())),
          batch_(batch),
          spin_(side.task.spin) {}

  protected:
    void show() { head_.sent.publish(shown_ = sent_, spin_); }
    void give_back() { head_.taken.publish(given_back_ = taken_, spin_); }
    void need_room(std::uint64_t taken) {  // until so much has been taken
        if (seen_taken_ < taken) {
            show();
            seen_taken_ = head_.taken.wait_for(taken, spin_);
        }
    }
    void need(std::uint64_t sent) {
        if (seen_sent_ >= sent) {
            return;
        }
        seen_sent_ = head_.sent.load();
        if (seen_sent_ < sent) {
            give_back();
            seen_sent_ = head_.sent.wait_for(sent, spin_);
        }
    }
    void all_taken() {
        show();
        head_.taken.wait_for(sent_, spin_);
    }

    std::unique_ptr<Shared> head_memory_;
    Head& head_;
    std::uint64_t batch_;
    bool spin_;
    // this side's own: of the sender, then of the receiver
    std::uint64_t sent_ = 0, shown_ = 0, seen_taken_ = 0;
    std::uint64_t taken_ = 0, given_back_ = 0, seen_sent_ = 0;
};

// Messages one behind the other; what is long goes through in pieces, on which both sides work at once.
class Ring : public Counted {
  public:
    Ring(Side& side, bool sends)
        : Counted(side, sends,
                  side.task.kind == Class::kLatency ? 1
                  : side.task.batch > 0             ? side.task.batch
                                                    : 1024),
          bytes_(size_of(side.task)),
          line_(side.task.size < 1024 ? 8 : 64),
          own_(side.task.size, buffers_of(side.task, false)),
          memory_(met(side, sends, bytes_, true)) {}
    Byte* next() { return own_.at(turn_); }
    void post(std::uint64_t size) {
        const Byte* from = own_.at(turn_++);
        sent_ = begin_of(sent_);
        for (std::uint64_t done = 0; done < size;) {
            const std::uint64_t piece = std::min({size - done, kPiece, bytes_ / 8});
            if (sent_ + piece > bytes_) {
                need_room(sent_ + piece - bytes_);
            }
            copy(at(sent_), from + done, piece);
            done += piece;
            sent_ += piece;
            if (sent_ - shown_ >= batch_) {
                show();
            }
        }
    }
    void flush() { show(); }
    void finish() { all_taken(); }
    const Byte* take(std::uint64_t size) {
        Byte* to = own_.at(turn_++);
        taken_ = begin_of(taken_);
        for (std::uint64_t done = 0; done < size;) {
            const std::uint64_t piece = std::min({size - done, kPiece, bytes_ / 8});
            need(taken_ + piece);
            copy(to + done, at(taken_), piece);
            done += piece;
            taken_ += piece;
            if (taken_ - given_back_ >= bytes_ / 64) {
                give_back();
            }
        }
        return to;
    }
    void done() {}
    void all_read() { give_back(); }
    Byte* window(std::uint64_t j) const { return own_.at(j); }

  private:
    static constexpr std::uint64_t kPiece = 32768;
    static std::uint64_t size_of(const Task& task) {
        constexpr std::uint64_t kLeast = 65536;
        return task.buffer > 0 ? std::bit_ceil(std::max(task.buffer, kLeast))
                               : std::uint64_t{task.size < 1024 ? 2U : 4U} << 20;
    }
    Byte* at(std::uint64_t position) const { return memory_->data() + (position & (bytes_ - 1)); }
    // large ones on a cache line: copies that lie across lines take several times as long
    std::uint64_t begin_of(std::uint64_t position) const { return (position + line_ - 1) & ~(line_ - 1); }

    std::uint64_t bytes_, line_;
    Buffers own_;
    std::uint64_t turn_ = 0;
    std::unique_ptr<Shared> memory_;
};

// Slots that are handed over and given back in order.
class Pool : public Counted {
  public:
    Pool(Side& side, bool sends)
        : Counted(side, sends, side.task.batch > 0 ? side.task.batch : 1024),
          size_(side.task.size),
          slots_(slots_of(side.task)),
          stride_(side.task.kind == Class::kToken ? 0 : (size_ + 63) & ~std::uint64_t{63}),
          memory_(met(side, sends, std::max<std::uint64_t>(slots_ * stride_, size_))) {}
    Byte* next() {
        if (sent_ >= slots_) {
            need_room(sent_ - slots_ + 1);
        }
        return memory_->data() + slot_ * stride_;
    }
    void post(std::uint64_t) {
        step();
        if ((++sent_ - shown_) * size_ >= batch_) {
            show();
        }
    }
    void flush() { show(); }
    void finish() { all_taken(); }
    const Byte* take(std::uint64_t) {
        need(taken_ + 1);
        return memory_->data() + slot_ * stride_;
    }
    void done() {
        step();
        if (++taken_ - given_back_ >= std::max<std::uint64_t>(1, slots_ / 4)) {
            give_back();
        }
    }
    void all_read() { give_back(); }
    Byte* window(std::uint64_t) const { return nullptr; }

  private:
    static std::uint64_t slots_of(const Task& task) {
        if (task.slots > 0) {
            return task.slots;
        }
        constexpr std::uint64_t kTokens = 1024;
        constexpr std::uint64_t kBytes = std::uint64_t{4} << 20;
        return task.kind == Class::kToken ? kTokens : std::clamp<std::uint64_t>(kBytes / task.size, 2, 8192);
    }
    void step() { slot_ = slot_ + 1 == slots_ ? 0 : slot_ + 1; }

    std::uint64_t size_, slots_, stride_, slot_ = 0;
    std::unique_ptr<Shared> memory_;
};

}  // namespace

void ring(Side& side) {
    if (side.task.kind == Class::kLoan || side.task.kind == Class::kToken) {
        one_way(side, [&](bool sends) { return std::make_unique<Pool>(side, sends); });
    } else {
        one_way(side, [&](bool sends) { return std::make_unique<Ring>(side, sends); });
    }
}

}  // namespace transport
