// SPDX-License-Identifier: BSD-3-Clause
// The floor: a ring and a pool of slots that do nothing but hand messages over. No peers that come, go or die, no
// checks, sizes that both sides know.
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "pair.h"

namespace transport {
namespace {

using Byte = unsigned char;

void pause_briefly() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

// A counter that one side advances and the other waits for.
class Progress {
  public:
    void publish(std::uint64_t value, bool spin) {
        value_.store(value, std::memory_order_release);
        if (spin) {
            return;
        }
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (sleeping_.load(std::memory_order_relaxed) != 0 && sleeping_.exchange(0) != 0) {
            syscall(SYS_futex, &sleeping_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
        }
    }
    std::uint64_t load() const { return value_.load(std::memory_order_acquire); }
    std::uint64_t wait_for(std::uint64_t at_least, bool spin) {
        constexpr int kPolls = 256;        // between two looks at the clock
        constexpr double kSpin = 50e-6;    // longer than a wake-up takes
        constexpr double kYield = 200e-6;  // then the other side may need this processor
        const Clock::time_point begin = Clock::now();
        std::uint64_t value = load();
        while (value < at_least) {
            for (int i = 0; i < kPolls && value < at_least; ++i) {
                pause_briefly();
                value = load();
            }
            const double waited = since(begin);
            if (value < at_least && !spin && waited > kSpin) {
                sleeping_.store(1, std::memory_order_seq_cst);
                if (load() < at_least) {
                    syscall(SYS_futex, &sleeping_, FUTEX_WAIT_PRIVATE, 1, nullptr, nullptr, 0);
                }
                value = load();
            } else if (value < at_least && waited > kYield) {
                sched_yield();
            }
        }
        return value;
    }

  private:
    alignas(128) std::atomic<std::uint64_t> value_{0};
    alignas(128) std::atomic<std::uint32_t> sleeping_{0};
};

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

// Shared memory, mapped twice in a row so that nothing wraps.
class Twice {
  public:
    explicit Twice(std::uint64_t bytes) : bytes_(bytes) {
        const int fd = memfd_create("nodewise-study-ring", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
            error_ = errno;
        }
        void* space = mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (std::uint64_t at = 0; error_ == 0 && at < 2 * bytes; at += bytes) {
            void* part = static_cast<Byte*>(space) + at;
            if (mmap(part, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED) {
                error_ = errno;
            }
        }
        memory_ = static_cast<Byte*>(space);
        if (fd >= 0) {
            close(fd);
        }
    }
    Twice(const Twice&) = delete;
    Twice& operator=(const Twice&) = delete;
    ~Twice() { munmap(memory_, 2 * bytes_); }
    Byte* at(std::uint64_t position) const { return memory_ + (position & (bytes_ - 1)); }
    int error() const { return error_; }

  private:
    std::uint64_t bytes_;
    Byte* memory_ = nullptr;
    int error_ = 0;
};

// Messages one behind the other, shown some at a time; what is long goes through in pieces.
// Each side's own members are a line apart from the other's.
class Ring {  // NOLINT(clang-analyzer-optin.performance.Padding)
  public:
    explicit Ring(const Task& task)
        : bytes_(std::uint64_t{task.size < 1024 ? 2U : 4U} << 20),
          batch_(task.kind == Class::kLatency ? 1 : 1024),
          line_(task.size < 1024 ? 8 : 64),
          spin_(task.spin),
          memory_(bytes_) {}
    bool good() const { return memory_.error() == 0; }
    std::string problem() const { return std::generic_category().message(memory_.error()); }
    bool send(const void* data, std::uint64_t size) {
        const auto* from = static_cast<const Byte*>(data);
        sent_ = begin_of(sent_);
        for (std::uint64_t done = 0; done < size;) {
            const std::uint64_t piece = std::min(size - done, kPiece);
            if (sent_ + piece - seen_taken_ > bytes_) {
                flush();
                seen_taken_ = taken_progress_.wait_for(sent_ + piece - bytes_, spin_);
            }
            copy(memory_.at(sent_), from + done, piece);
            done += piece;
            sent_ += piece;
            if (sent_ - shown_ >= batch_) {
                flush();
            }
        }
        return true;
    }
    bool receive(void* data, std::uint64_t size) {
        auto* to = static_cast<Byte*>(data);
        taken_ = begin_of(taken_);
        for (std::uint64_t done = 0; done < size;) {
            const std::uint64_t piece = std::min(size - done, kPiece);
            if (seen_sent_ < taken_ + piece) {
                seen_sent_ = sent_progress_.load();
            }
            if (seen_sent_ < taken_ + piece) {
                give_back();
                seen_sent_ = sent_progress_.wait_for(taken_ + piece, spin_);
            }
            copy(to + done, memory_.at(taken_), piece);
            done += piece;
            taken_ += piece;
            if (taken_ - given_back_ >= bytes_ / 64) {
                give_back();
            }
        }
        return true;
    }
    bool finish() {
        flush();
        return true;
    }
    void give_up() {}

  private:
    static constexpr std::uint64_t kPiece = 32768;
    // large ones on a cache line: copies that lie across lines take several times as long
    std::uint64_t begin_of(std::uint64_t position) const { return (position + line_ - 1) & ~(line_ - 1); }
    void flush() { sent_progress_.publish(shown_ = sent_, spin_); }
    void give_back() { taken_progress_.publish(given_back_ = taken_, spin_); }

    std::uint64_t bytes_, batch_, line_;
    bool spin_;
    Twice memory_;
    Progress sent_progress_, taken_progress_;
    alignas(128) std::uint64_t sent_ = 0;  // the sender's own
    std::uint64_t shown_ = 0, seen_taken_ = 0;
    alignas(128) std::uint64_t taken_ = 0;  // the receiver's own
    std::uint64_t given_back_ = 0, seen_sent_ = 0;
};

// Slots that are handed over and given back in order.
class Pool {  // NOLINT(clang-analyzer-optin.performance.Padding)
  public:
    explicit Pool(const Task& task)
        : size_(task.size),
          slots_(task.kind == Class::kToken ? 1024 : std::clamp<std::uint64_t>((4U << 20) / task.size, 2, 8192)),
          spin_(task.spin),
          token_(task.kind == Class::kToken),
          memory_(new (std::align_val_t{4096}) Byte[(token_ ? 1 : slots_) * ((size_ + 63) & ~std::uint64_t{63})]()) {}
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool() { operator delete[](memory_, std::align_val_t{4096}); }
    bool lend(std::uint64_t*& words, std::uint64_t) {
        if (sent_ - seen_taken_ == slots_) {
            flush();
            seen_taken_ = taken_progress_.wait_for(sent_ - slots_ + 1, spin_);
        }
        words = slot(sent_);
        return true;
    }
    bool hand_over() {
        if ((++sent_ - shown_) * size_ >= 1024) {
            flush();
        }
        return true;
    }
    bool take(const std::uint64_t*& words, std::uint64_t& size) {
        if (seen_sent_ == taken_) {
            seen_sent_ = sent_progress_.load();
        }
        if (seen_sent_ == taken_) {
            publish_taken();
            seen_sent_ = sent_progress_.wait_for(taken_ + 1, spin_);
        }
        words = slot(taken_);
        size = size_;
        return true;
    }
    bool give_back() {
        if (++taken_ - given_back_ >= std::max<std::uint64_t>(1, slots_ / 4)) {
            publish_taken();
        }
        return true;
    }
    bool finish() {
        flush();
        return true;
    }
    void give_up() {}

  private:
    std::uint64_t* slot(std::uint64_t number) const {
        const std::uint64_t at = token_ ? 0 : number % slots_;
        return reinterpret_cast<std::uint64_t*>(memory_ + at * ((size_ + 63) & ~std::uint64_t{63}));
    }
    void flush() { sent_progress_.publish(shown_ = sent_, spin_); }
    void publish_taken() { taken_progress_.publish(given_back_ = taken_, spin_); }

    std::uint64_t size_, slots_;
    bool spin_, token_;
    Byte* memory_;
    Progress sent_progress_, taken_progress_;
    alignas(128) std::uint64_t sent_ = 0;
    std::uint64_t shown_ = 0, seen_taken_ = 0;
    alignas(128) std::uint64_t taken_ = 0;
    std::uint64_t given_back_ = 0, seen_sent_ = 0;
};

}  // namespace

int ring(nw_run* run) {
    const Task task = task_of(run);
    if (task.kind == Class::kCopy || task.kind == Class::kLatency) {
        return copying<Ring>(run, "ring", [](const Task& given) { return std::make_unique<Ring>(given); });
    }
    Pool pool(task);
    return lent(run, task, pool, "ring");
}

}  // namespace transport
