// SPDX-License-Identifier: BSD-3-Clause
// How an endpoint sleeps until one of its peers has done something. Each has one, in a page that its peers map, too.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/segment.h"

namespace nodewise::transport {

class Bell {
  public:
    Bell();                           // our own
    explicit Bell(const Fd& theirs);  // a peer's; throws Damaged
    const Fd& fd() const { return fd_; }

    // After what the owner looks at has been written. `fenced`: one of the two takes no part in barriers, so that each
    // ring needs a fence; else who goes to sleep has made one for both.
    void ring(bool fenced) const {
        if (fenced) {
            std::atomic_thread_fence(std::memory_order_seq_cst);
        } else {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        if (sleeping_->load(std::memory_order_relaxed) != 0) [[unlikely]] {
            wake();
        }
    }

    // Announces that we sleep; what we wait for is to be looked at once more after it, and then sleep() or
    // stay_awake().
    void announce() const;
    void sleep(std::int64_t at_most_ns) const;
    void stay_awake() const { sleeping_->store(0, std::memory_order_relaxed); }

  private:
    void wake() const;
    Fd fd_;
    Mapping page_;
    std::atomic<std::uint32_t>* sleeping_ = nullptr;
};

}  // namespace nodewise::transport
