// SPDX-License-Identifier: BSD-3-Clause
// What the transports need of Linux: descriptors, clock, deadlines, forks, processors.
#pragma once

#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "transport/transport.h"

namespace nodewise::transport {

class Fd {
  public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    ~Fd() { reset(); }
    int get() const { return fd_; }
    bool open() const { return fd_ >= 0; }
    void reset() {
        if (fd_ >= 0) {
            ::close(std::exchange(fd_, -1));
        }
    }

  private:
    int fd_ = -1;
};

inline std::int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// A point in time, or none; read from the clock only once it is asked for.
class Deadline {
  public:
    explicit Deadline(std::int64_t timeout_ns) : timeout_ns_(timeout_ns) {}
    bool at_once() const { return timeout_ns_ == 0; }
    // At most `most`; 0 once it has passed.
    std::int64_t left_ns(std::int64_t most) {
        if (timeout_ns_ < 0) {
            return most;
        }
        if (timeout_ns_ == 0) {
            return 0;
        }
        const std::int64_t now = now_ns();
        if (end_ns_ == 0) {
            end_ns_ = timeout_ns_ > INT64_MAX - now ? INT64_MAX : now + timeout_ns_;
        }
        const std::int64_t left = end_ns_ - now;
        return left < 0 ? 0 : (left < most ? left : most);
    }

  private:
    std::int64_t timeout_ns_;
    std::int64_t end_ns_ = 0;
};

// How often this process was forked from another since the library was loaded: what has another number is the parent's.
std::uint32_t generation();

// Whether this process could be told to take part in barriers that another one asks for (membarrier(2)).
bool takes_part_in_barriers();
// All running threads of processes that take part pass a full barrier.
void barrier_for_all();

// Processors that this thread may use.
int processors();

// A descriptor that is readable once the process has ended; not open where there is none.
Fd descriptor_of_process(pid_t pid);

inline void pause_briefly() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

}  // namespace nodewise::transport
