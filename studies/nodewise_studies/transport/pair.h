// SPDX-License-Identifier: BSD-3-Clause
// The two threads of a pair, over whatever link: the sender is the second thread of the team, the receiver the first.
//
// A link has `send`, `receive`, `finish` (the sender's, back once all has been received, where the link knows) and
// `give_up` (either side's, so that the other does not wait for ever). A signal message goes first; the receiver's
// clock runs from it to the last message, summed. Links are made before, and that is not timed.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "study.h"

namespace transport {

using Clock = std::chrono::steady_clock;

inline double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// A side's own buffer, touched by the thread that has it.
class Own {
  public:
    explicit Own(std::uint64_t words) : words_(new (std::align_val_t{4096}) std::uint64_t[words]) {
        rewrite(words_.get(), words, 1);
    }
    std::uint64_t* words() const { return words_.get(); }

  private:
    struct Free {
        void operator()(std::uint64_t* words) const { operator delete[](words, std::align_val_t{4096}); }
    };
    std::unique_ptr<std::uint64_t[], Free> words_;
};

// Both at once; 0 where both have come through.
inline int together(nw_run* run, const char* name, const std::function<bool()>& receiver,
                    const std::function<bool()>& sender, const std::function<void()>& give_up) {
    std::atomic<bool> good{true};
    int team = 0;
    omp_set_dynamic(0);
#pragma omp parallel num_threads(2)
    {
        const int thread = omp_get_thread_num();
        if (thread == 0) {
            team = omp_get_num_threads();
        }
#pragma omp barrier
        if (team == 2 && !(thread == 0 ? receiver() : sender())) {
            good = false;
            give_up();
        }
    }
    if (team != 2) {
        return nw_fail(run, "a pair needs two threads, and OpenMP gave %d\nhint: unset OMP_THREAD_LIMIT", team);
    }
    return good ? 0 : nw_fail(run, "%s: a message could not be handed over", name);
}

template <class Link>
int copied(nw_run* run, const Task& task, Link& link, const char* name) {
    const auto receiver = [&] {
        const Own own(std::max<std::uint64_t>(1, task.words()));
        if (!link.receive(own.words(), 8)) {
            return false;
        }
        const Clock::time_point begin = Clock::now();
        for (std::uint64_t i = 0; i < task.messages; ++i) {
            if (!link.receive(own.words(), task.size)) {
                return false;
            }
            task.sums[i] = sum(own.words(), task.words());
        }
        nw_report(run, "seconds", since(begin));
        return true;
    };
    const auto sender = [&] {
        const Own own(std::max<std::uint64_t>(1, task.words()));
        if (!link.send(own.words(), 8)) {
            return false;
        }
        for (std::uint64_t i = 0; i < task.messages; ++i) {
            rewrite(own.words(), task.words(), task.first[i]);
            if (!link.send(own.words(), task.size)) {
                return false;
            }
        }
        return link.finish();
    };
    return together(run, name, receiver, sender, [&] { link.give_up(); });
}

// Half a round trip: the first thread asks, the second answers with one more.
template <class Link>
int round_trips(nw_run* run, const Task& task, Link& there, Link& back, const char* name) {
    const auto asker = [&] {
        std::vector<double> times(task.messages);
        const Clock::time_point begin = Clock::now();
        Clock::time_point last = begin;
        for (std::uint64_t i = 0; i < task.messages; ++i) {
            std::int64_t answer = 0;
            if (!there.send(&task.first[i], 8) || !back.receive(&answer, 8)) {
                return false;
            }
            task.sums[i] = answer;
            const Clock::time_point now = Clock::now();
            times[i] = std::chrono::duration<double>(now - last).count();
            last = now;
        }
        nw_report(run, "seconds", std::chrono::duration<double>(last - begin).count());
        std::ranges::sort(times);
        const auto half_us = [&](double share) {
            return 0.5e6 * times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
        };
        nw_report(run, "p50_us", half_us(0.5));
        nw_report(run, "p99_us", half_us(0.99));
        nw_report(run, "p999_us", half_us(0.999));
        return there.finish();
    };
    const auto answerer = [&] {
        for (std::uint64_t i = 0; i < task.messages; ++i) {
            std::uint64_t number = 0;
            if (!there.receive(&number, 8)) {
                return false;
            }
            ++number;
            if (!back.send(&number, 8)) {
                return false;
            }
        }
        return back.finish();
    };
    return together(run, name, asker, answerer, [&] {
        there.give_up();
        back.give_up();
    });
}

// A contender that copies, in the classes that it has part in.
template <class Link, class Make>
int copying(nw_run* run, const char* name, Make make) {
    const Task task = task_of(run);
    std::unique_ptr<Link> there = make(task);
    if (!there->good()) {
        return nw_fail(run, "%s cannot be set up: %s", name, std::string(there->problem()).c_str());
    }
    if (task.kind == Class::kCopy) {
        return copied(run, task, *there, name);
    }
    if (task.kind != Class::kLatency) {
        return nw_fail(run, "%s lends nothing\nhint: class=copy or class=latency", name);
    }
    std::unique_ptr<Link> back = make(task);
    return back->good() ? round_trips(run, task, *there, *back, name)
                        : nw_fail(run, "%s cannot be set up: %s", name, std::string(back->problem()).c_str());
}

// One that lends: `lend(words)` gives the sender memory of a message, `hand_over()` sends it; `take(&words)` gives it
// to the receiver, `give_back()` ends that.
template <class Link>
int lent(nw_run* run, const Task& task, Link& link, const char* name) {
    const bool touched = task.kind == Class::kLoan;
    const auto receiver = [&] {
        const std::uint64_t* words = nullptr;
        std::uint64_t size = 0;
        if (!link.take(words, size) || !link.give_back()) {
            return false;
        }
        const Clock::time_point begin = Clock::now();
        for (std::uint64_t i = 0; i < task.messages; ++i) {
            if (!link.take(words, size)) {
                return false;
            }
            task.sums[i] = touched ? sum(words, size / 8) : static_cast<std::int64_t>(size);
            if (!link.give_back()) {
                return false;
            }
        }
        nw_report(run, "seconds", since(begin));
        return true;
    };
    const auto sender = [&] {
        for (std::uint64_t i = 0; i <= task.messages; ++i) {  // the signal, too
            std::uint64_t* words = nullptr;
            if (!link.lend(words, task.size)) {
                return false;
            }
            if (touched && i > 0) {
                rewrite(words, task.words(), task.first[i - 1]);
            }
            if (!link.hand_over()) {
                return false;
            }
        }
        return link.finish();
    };
    return together(run, name, receiver, sender, [&] { link.give_up(); });
}

}  // namespace transport
