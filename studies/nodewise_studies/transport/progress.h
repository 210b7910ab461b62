// SPDX-License-Identifier: BSD-3-Clause
// A counter in shared memory that one process advances and another waits for.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "drive.h"

namespace transport {

class Progress {
  public:
    std::uint64_t load() const { return value_.load(std::memory_order_acquire); }
    void publish(std::uint64_t value, bool spin) {
        value_.store(value, std::memory_order_release);
        if (spin) {
            return;
        }
        std::atomic_thread_fence(std::memory_order_seq_cst);  // either we see the sleeper, or it sees the value
        if (sleeping_.load(std::memory_order_relaxed) != 0 && sleeping_.exchange(0) != 0) {
            syscall(SYS_futex, &sleeping_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
        }
    }
    // Where it does not spin for ever, it sleeps after `spin_s`.
    std::uint64_t wait_for(std::uint64_t at_least, bool spin, double spin_s = 50e-6) {
        constexpr int kPolls = 64;         // between two looks at the clock
        constexpr double kYield = 200e-6;  // then the other side may need this processor
        std::uint64_t value = load();
        if (value >= at_least) {
            return value;
        }
        const Clock::time_point begin = Clock::now();
        while (value < at_least) {
            for (int i = 0; i < kPolls && value < at_least && (spin || spin_s > 0); ++i) {
                pause_briefly();
                value = load();
            }
            const double waited = value >= at_least || (!spin && spin_s == 0) ? 0 : since(begin);
            if (value < at_least && !spin && waited >= spin_s) {
                sleeping_.store(1, std::memory_order_seq_cst);
                if (load() < at_least) {
                    syscall(SYS_futex, &sleeping_, FUTEX_WAIT, 1, nullptr, nullptr, 0);
                }
                value = load();
            } else if (value < at_least && waited > kYield) {
                sched_yield();
            }
        }
        return value;
    }

  private:
    alignas(128) std::atomic<std::uint64_t> value_{0};  // 128: the prefetcher takes lines in pairs
    alignas(128) std::atomic<std::uint32_t> sleeping_{0};
};

// Shared memory that the receiving side makes and tells the other of.
inline std::unique_ptr<Shared> met(Side& side, bool sends, std::uint64_t bytes, bool twice = false) {
    if (sends) {
        return std::make_unique<Shared>(bytes, side.hear(), twice);
    }
    auto made = std::make_unique<Shared>(bytes, "", twice);
    side.tell(made->path());
    return made;
}

}  // namespace transport
