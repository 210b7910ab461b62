// SPDX-License-Identifier: BSD-3-Clause
// Waits until something is so: spins first, then sleeps on a bell.
#pragma once

#include "transport/bell.h"
#include "transport/error.h"

namespace nodewise::transport {

class Waiter {
  public:
    Waiter(bool spin, int (*interrupted)(void*), void* context)
        : spin_(spin), alone_(processors() < 2), interrupted_(interrupted), context_(context) {}

    const Bell& bell() const { return bell_; }

    // From now on somebody sleeps in poll(2) on bell().event(), too.
    void watch() { watched_ = true; }
    bool watched() const { return watched_; }

    void ask() const {
        if (interrupted_ != nullptr && interrupted_(context_) != 0) {
            throw Error(NWT_INTERRUPTED, "interrupted");
        }
    }

    // False where the time is over. `ready` may throw. `pauses`: between two looks, where each look disturbs the other
    // side.
    template <typename Ready>
    bool wait(Deadline& deadline, Ready ready, int pauses = 1) {
        if (ready()) {
            return true;
        }
        if (!watched_) [[likely]] {
            return !deadline.at_once() && wait_longer(deadline, ready, pauses);
        }
        return wait_watched(deadline, ready, pauses);
    }

  private:
    // Longer than a wake-up takes: two sides that spin for less, once asleep, wake each other too late again and again.
    static constexpr std::int64_t kSpin = 100'000, kShortSpin = 5'000, kLongWait = 2'000'000;  // ns
    static constexpr std::int64_t kSlice = 100'000'000;  // ns, between looks at what interrupts
    static constexpr int kPolls = 64;

    // As above; in the end what somebody sleeps on is readable, or will be once there is something to look at.
    template <typename Ready>
    bool wait_watched(Deadline& deadline, Ready ready, int pauses) {
        try {
            bool done = !deadline.at_once() && wait_longer(deadline, ready, pauses);
            if (!done) {
                bell_.announce_on_event();
                done = ready();
            }
            if (done) {
                bell_.show_on_event();
            }
            return done;
        } catch (...) {
            bell_.show_on_event();
            throw;
        }
    }

    template <typename Ready>
    bool wait_longer(Deadline& deadline, Ready ready, int pauses) {
        // sleeping for long is what the next wait will do, too, and spinning before it would be for nothing
        const std::int64_t limit = alone_ ? 0 : (last_ns_ > kLongWait ? kShortSpin : kSpin);
        std::int64_t began = 0;
        std::int64_t asked = 0;
        while (true) {
            for (int i = 0; i < kPolls; i += pauses) {
                for (int pause = 0; pause < pauses; ++pause) {
                    pause_briefly();
                }
                if (ready()) {
                    last_ns_ = 0;
                    return true;
                }
            }
            const std::int64_t now = now_ns();
            began = began == 0 ? now : began;
            if (deadline.left_ns(1) == 0) {
                return false;
            }
            if (!spin_ && now - began >= limit) {
                break;
            }
            if (now - asked > kSlice) {
                asked = now;
                ask();
            }
        }
        while (true) {
            ask();
            bell_.announce();
            if (const bool now = ready_awake(ready); now) {
                break;
            }
            const std::int64_t left = deadline.left_ns(kSlice);
            if (left == 0) {
                bell_.stay_awake();
                return false;
            }
            bell_.sleep(left);
            if (ready()) {
                break;
            }
        }
        last_ns_ = now_ns() - began;
        return true;
    }

    template <typename Ready>
    bool ready_awake(Ready& ready) {
        try {
            const bool now = ready();
            if (now) {
                bell_.stay_awake();
            }
            return now;
        } catch (...) {
            bell_.stay_awake();
            throw;
        }
    }

    Bell bell_;
    bool spin_, alone_, watched_ = false;
    std::int64_t last_ns_ = 0;
    int (*interrupted_)(void*);
    void* context_;
};

}  // namespace nodewise::transport
