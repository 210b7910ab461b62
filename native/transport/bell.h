// SPDX-License-Identifier: BSD-3-Clause
// How an endpoint sleeps until one of its peers has done something. Each has one, in a page that its peers map, too,
// and a descriptor for who would rather sleep in poll(2).
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/segment.h"

namespace nodewise::transport {

class Bell {
  public:
    Bell();                            // our own
    Bell(const Fd& theirs, Fd event);  // a peer's; throws Damaged
    const Fd& fd() const { return fd_; }
    const Fd& event() const { return event_; }

    // After what the owner looks at has been written. `fenced`: one of the two takes no part in barriers, so that each
    // ring needs a fence; else who goes to sleep has made one for both.
    void ring(bool fenced) const {
        if (fenced) {
            std::atomic_thread_fence(std::memory_order_seq_cst);
        } else {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        if (sleeping_->load(std::memory_order_relaxed) != kAwake) [[unlikely]] {
            wake();
        }
    }

    // Announces that we sleep; what we wait for is to be looked at once more after it, and then sleep() or
    // stay_awake().
    void announce() const { announce(kAsleep); }
    void sleep(std::int64_t at_most_ns) const;
    void stay_awake() const { sleeping_->store(kAwake, std::memory_order_relaxed); }

    // The same for who sleeps in poll(2) on event(): the next ring makes it readable, and it stays so until here.
    void announce_on_event() const;
    // Makes it readable: there may be something to do.
    void show_on_event() const;

  private:
    enum : std::uint32_t { kAwake = 0, kAsleep = 1, kOnEvent = 2 };
    void announce(std::uint32_t how) const;
    void wake() const;
    Fd fd_, event_;
    Mapping page_;
    std::atomic<std::uint32_t>* sleeping_ = nullptr;
};

}  // namespace nodewise::transport
