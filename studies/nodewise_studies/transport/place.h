// SPDX-License-Identifier: BSD-3-Clause
// One-sided transfers: the sender puts each message into the receiver's memory, and says at the end that all is there.
//
// A link has `window(j)`, the source or target of place j, and of the sender `signal()`, `put(j)` without waiting, and
// `finish()`, which notifies once all has arrived; of the receiver `await_signal()` and `await_end()`.
#pragma once

#include "drive.h"

namespace transport {

template <class Link>
void placed(Side& side, Link& link, const std::function<void()>& progress = {}) {
    const Task& task = side.task;
    if (side.receiver) {
        side.tell("ready");
        link.await_signal();
        const double before = processor_seconds();
        const Clock::time_point begin = Clock::now();
        link.await_end();
        side.figures.seconds = side.figures.elapsed = since(begin);
        side.figures.processor = processor_seconds() - before;
        for (std::uint64_t i = 0; i < task.messages; ++i) {
            side.sums()[i] = static_cast<std::int64_t>(sum(link.window(task.place(i)), task.size));
        }
    } else {
        for (std::uint64_t j = 0; j < task.window(); ++j) {
            rewrite(link.window(j), task.size, task.first(j));
        }
        side.hear();
        link.signal();
        const double before = processor_seconds();
        for (std::uint64_t i = 0; i < task.messages; ++i) {
            link.put(task.place(i));
        }
        link.finish();
        side.figures.processor = processor_seconds() - before;
    }
    side.leave(progress);
}

}  // namespace transport
