// SPDX-License-Identifier: BSD-3-Clause
// The floor of one-sided transfers and of round trips: memory that both map, and one cache line that both look at.
#include "bare.h"
#include "place.h"
#include "progress.h"

namespace transport {
namespace {

// The receiver's window lies in shared memory, and the sender copies into it.
class Mapped {
  public:
    explicit Mapped(Side& side)
        : size_(side.task.size),
          spin_(side.task.spin),
          own_(size_, side.receiver ? 1 : side.task.window()),
          head_(met(side, !side.receiver, sizeof(Progress))),
          window_(met(side, !side.receiver, own_.stride() * side.task.window())),
          receiver_(side.receiver) {}
    Byte* window(std::uint64_t j) const { return receiver_ ? window_->data() + j * own_.stride() : own_.at(j); }
    void signal() { count().publish(1, spin_); }
    void put(std::uint64_t j) { std::memcpy(window_->data() + j * own_.stride(), own_.at(j), size_); }
    void finish() { count().publish(2, spin_); }
    void await_signal() { count().wait_for(1, spin_); }
    void await_end() { count().wait_for(2, spin_); }

  private:
    Progress& count() const { return *reinterpret_cast<Progress*>(head_->data()); }
    std::uint64_t size_;
    bool spin_;
    Buffers own_;
    std::unique_ptr<Shared> head_, window_;
    bool receiver_;
};

// A message of at most one line, behind a counter that both look at.
class Line {
  public:
    Line(Side& side, bool sends, double spin_s)
        : spin_(side.task.spin), spin_s_(spin_s), memory_(met(side, sends, kBytes + side.task.size)) {}
    Byte* next() const { return memory_->data() + kBytes; }
    void post(std::uint64_t) { count().publish(++turn_, spin_); }
    void flush() {}
    const Byte* take(std::uint64_t) {
        count().wait_for(++turn_, spin_, spin_s_);
        return memory_->data() + kBytes;
    }
    void done() {}
    void all_read() {}
    void finish() {}
    Byte* window(std::uint64_t) const { return nullptr; }

  private:
    static constexpr std::uint64_t kBytes = 4096;
    Progress& count() const { return *reinterpret_cast<Progress*>(memory_->data()); }
    bool spin_;
    double spin_s_;
    std::unique_ptr<Shared> memory_;
    std::uint64_t turn_ = 0;
};

}  // namespace

void mapped(Side& side) {
    Mapped link(side);
    placed(side, link);
}

void line(Side& side) {
    one_way(side, [&](bool sends) { return std::make_unique<Line>(side, sends, 0); });
}

// Asleep at once, by a futex and nothing else.
void bare_futex(Side& side) {
    side.task.spin = false;
    line(side);
}

}  // namespace transport
