// SPDX-License-Identifier: BSD-3-Clause
// What each side does in each class, over whatever link.
//
// A link that sends has `next()`, memory to write the next message into, `post(size)`, which sends it without waiting
// for the other side, `flush()`, after which nothing is held back, and `finish()`, after which all is in the other
// side's hands. One that receives has `take(size)`, the next message, `done()`, which ends the use of it, and
// `all_read()` after the last. In one-sided transfers both have `window(j)`, the memory of place j; messages go there
// in turn, a signal first. All throw where they cannot.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "side.h"

namespace transport {

using Clock = std::chrono::steady_clock;

inline double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

inline void pause_briefly() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

// Of all threads of this process.
inline double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    constexpr double kNano = 1e-9;
    return static_cast<double>(now.tv_sec) + kNano * static_cast<double>(now.tv_nsec);
}

// Messages' own memory, touched: `count` of them, each on a cache line of its own.
class Buffers {
  public:
    Buffers(std::uint64_t size, std::uint64_t count)
        : stride_((std::max<std::uint64_t>(size, 8) + 63) & ~std::uint64_t{63}),
          count_(count),
          bytes_(static_cast<Byte*>(operator new[](stride_ * count, std::align_val_t{4096}))) {
        std::memset(bytes_.get(), 1, stride_ * count);
    }
    Byte* at(std::uint64_t i) const { return bytes_.get() + i % count_ * stride_; }
    std::uint64_t stride() const { return stride_; }
    std::uint64_t bytes() const { return stride_ * count_; }
    std::uint64_t count() const { return count_; }

  private:
    struct Free {
        void operator()(Byte* bytes) const { operator delete[](bytes, std::align_val_t{4096}); }
    };
    std::uint64_t stride_, count_;
    std::unique_ptr<Byte[], Free> bytes_;
};

// How many messages of their own the sides of a link have that sends and receives at once, or needs `several` since
// those on their way may not be written.
inline std::uint64_t buffers_of(const Task& task, bool several) {
    if (task.kind == Class::kOneSided) {
        return task.window();
    }
    if (!several) {
        return 1;
    }
    constexpr std::uint64_t kBytes = std::uint64_t{4} << 20;
    const std::uint64_t usual = std::clamp<std::uint64_t>(kBytes / task.size, 2, 64);
    return task.most > 0 ? std::clamp<std::uint64_t>(task.most, 2, 1024) : usual;
}

inline std::uint64_t signal_size(const Task& task) { return std::min<std::uint64_t>(task.size, 8); }

template <class Link>
void send_all(Side& side, Link& out) {
    const Task& task = side.task;
    if (task.kind == Class::kOneSided) {
        for (std::uint64_t j = 0; j < task.window(); ++j) {
            rewrite(out.window(j), task.size, task.first(j));
        }
    }
    side.hear();  // the receiver has touched its memory
    out.next();
    out.post(signal_size(task));
    out.flush();
    const double before = processor_seconds();
    const bool touched = task.touched();
    for (std::uint64_t i = 0; i < task.messages; ++i) {
        Byte* message = out.next();
        if (touched) {
            rewrite(message, task.size, task.first(i));
        }
        out.post(task.size);
    }
    out.finish();
    side.figures.processor = processor_seconds() - before;
}

template <class Link>
void receive_all(Side& side, Link& in) {
    const Task& task = side.task;
    side.tell("ready");
    in.take(signal_size(task));
    in.done();
    const bool touched = task.touched();
    std::int64_t* sums = side.sums();
    const double before = processor_seconds();
    const Clock::time_point begin = Clock::now();
    for (std::uint64_t i = 0; i < task.messages; ++i) {
        const Byte* message = in.take(task.size);
        sums[i] = static_cast<std::int64_t>(touched ? sum(message, task.size) : task.size);
        in.done();
    }
    side.figures.seconds = side.figures.elapsed = since(begin);
    side.figures.processor = processor_seconds() - before;
    in.all_read();
    if (task.kind == Class::kOneSided) {
        for (std::uint64_t i = 0; i < task.messages; ++i) {
            sums[i] = static_cast<std::int64_t>(sum(in.window(task.place(i)), task.size));
        }
    }
}

// The receiver asks, the other answers with one more.
template <class Out, class In>
void ask(Side& side, Out& out, In& in) {
    const Task& task = side.task;
    std::vector<double> times(task.messages);
    const timespec pause{static_cast<time_t>(task.pause_us / 1'000'000),
                         static_cast<long>(task.pause_us % 1'000'000 * 1000)};
    side.hear();
    const double before = processor_seconds();
    const Clock::time_point all = Clock::now();
    for (std::uint64_t i = 0; i < task.messages; ++i) {
        if (task.pause_us > 0) {
            nanosleep(&pause, nullptr);
        }
        const std::uint64_t number = task.first(i);
        const Clock::time_point begin = Clock::now();
        std::memcpy(out.next(), &number, sizeof number);
        out.post(task.size);
        out.flush();
        std::memcpy(&side.sums()[i], in.take(task.size), sizeof number);
        in.done();
        times[i] = since(begin);
    }
    side.figures.elapsed = since(all);
    side.figures.processor = processor_seconds() - before;
    for (const double time : times) {
        side.figures.seconds += time;
    }
    times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 10));  // warming up
    std::ranges::sort(times);
    const auto half = [&](double share) {
        return 0.5 * times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
    };
    side.figures.p50 = half(0.5);
    side.figures.p99 = half(0.99);
    side.figures.p999 = half(0.999);
}

template <class Out, class In>
void answer(Side& side, Out& out, In& in) {
    const Task& task = side.task;
    side.tell("ready");
    const double before = processor_seconds();
    for (std::uint64_t i = 0; i < task.messages; ++i) {
        std::uint64_t number = 0;
        std::memcpy(&number, in.take(task.size), sizeof number);
        in.done();
        ++number;
        std::memcpy(out.next(), &number, sizeof number);
        out.post(task.size);
        out.flush();
    }
    side.figures.processor = processor_seconds() - before;
}

// Over one link that goes both ways.
template <class Link>
void over(Side& side, Link& link, const std::function<void()>& progress = {}) {
    if (side.task.kind == Class::kLatency) {
        side.receiver ? ask(side, link, link) : answer(side, link, link);
    } else {
        side.receiver ? receive_all(side, link) : send_all(side, link);
    }
    side.leave(progress);
}

// Over links that go one way: `make(sends)` makes this side's end of one, and both sides make theirs in the same order.
template <class Make>
void one_way(Side& side, Make make) {
    if (side.task.kind != Class::kLatency) {
        auto link = make(!side.receiver);
        side.receiver ? receive_all(side, *link) : send_all(side, *link);
        side.leave();
        return;
    }
    auto there = make(side.receiver);
    auto back = make(!side.receiver);
    side.receiver ? ask(side, *there, *back) : answer(side, *back, *there);
    side.leave();
}

}  // namespace transport
