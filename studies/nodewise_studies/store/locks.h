// SPDX-License-Identifier: BSD-3-Clause
// The kinds of lock, all with shared and exclusive sides, which are the same for those that know no readers.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <shared_mutex>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace store {

inline void pause_processor() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Waits a little longer each time; with more threads than processors the holder may have to be let on.
class Patience {
  public:
    void wait() {
        if (++tries_ < kSpins) {
            pause_processor();
        } else {
            tries_ = 0;
            sched_yield();
        }
    }

  private:
    static constexpr int kSpins = 200;
    int tries_ = 0;
};

// The simplest: a flag that is taken by an exchange, in no order.
class Spin {
  public:
    void lock() {
        Patience patience;
        while (taken_.exchange(true, std::memory_order_acquire)) {
            while (taken_.load(std::memory_order_relaxed)) {
                patience.wait();
            }
        }
    }
    void unlock() { taken_.store(false, std::memory_order_release); }
    void lock_shared() { lock(); }
    void unlock_shared() { unlock(); }
    bool free() const { return !taken_.load(std::memory_order_relaxed); }

  private:
    std::atomic<bool> taken_{false};
};

// In the order in which threads came.
class Ticket {
  public:
    void lock() {
        const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
        Patience patience;
        while (serving_.load(std::memory_order_acquire) != mine) {
            patience.wait();
        }
    }
    void unlock() { serving_.store(serving_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
    void lock_shared() { lock(); }
    void unlock_shared() { unlock(); }

  private:
    std::atomic<std::uint32_t> next_{0};
    std::atomic<std::uint32_t> serving_{0};
};

class Mutex {
  public:
    void lock() { pthread_mutex_lock(&mutex_); }
    void unlock() { pthread_mutex_unlock(&mutex_); }
    void lock_shared() { lock(); }
    void unlock_shared() { unlock(); }

  private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class Rwlock {
  public:
    void lock() { pthread_rwlock_wrlock(&lock_); }
    void unlock() { pthread_rwlock_unlock(&lock_); }
    void lock_shared() { pthread_rwlock_rdlock(&lock_); }
    void unlock_shared() { pthread_rwlock_unlock(&lock_); }

  private:
    pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

#if defined(__x86_64__)
// A spin lock that is not taken where the processor can do without (RTM): threads that touch different accounts do not
// wait for each other. The transaction reads the lock, so that one who takes it ends all that are under way.
class Elided {
  public:
    __attribute__((target("rtm"))) void lock() {
        for (int tries = 0; tries < kTries; ++tries) {
            const unsigned status = _xbegin();
            if (status == _XBEGIN_STARTED) {
                if (lock_.free()) {
                    return;
                }
                _xabort(kTaken);
            }
            // not one that would help to try again, unless the lock was taken and becomes free
            if ((status & _XABORT_RETRY) == 0 && (status & _XABORT_EXPLICIT) == 0) {
                break;
            }
            Patience patience;
            while (!lock_.free()) {
                patience.wait();
            }
        }
        lock_.lock();
    }
    __attribute__((target("rtm"))) void unlock() {
        if (lock_.free()) {
            _xend();
        } else {
            lock_.unlock();
        }
    }
    void lock_shared() { lock(); }
    void unlock_shared() { unlock(); }

  private:
    static constexpr int kTries = 8;
    static constexpr unsigned kTaken = 0xff;
    Spin lock_;
};
#endif

}  // namespace store
