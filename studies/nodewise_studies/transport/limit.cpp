// SPDX-License-Identifier: BSD-3-Clause
// What no transport can do without: messages are written anew and summed, on both sides at the same time, and what is
// copied is copied once. Nothing is handed over, so that the sums are those that are due.
#include "bare.h"
#include "drive.h"

namespace transport {
namespace {

template <class Work>
void timed(Side& side, Work work) {
    const Task& task = side.task;
    const Buffers from(task.size, buffers_of(task, false));
    const Buffers to(task.size, buffers_of(task, false));
    if (side.receiver) {
        side.tell("ready");
    } else {
        side.hear();
    }
    const double before = processor_seconds();
    const Clock::time_point begin = Clock::now();
    for (std::uint64_t i = 0; i < task.messages; ++i) {
        work(from.at(i), to.at(i), i);
        asm volatile("" ::: "memory");  // each time
    }
    side.figures.seconds = side.figures.elapsed = since(begin);
    side.figures.processor = processor_seconds() - before;
    side.leave();
}

}  // namespace

void memory_copy(Side& side) {
    const std::uint64_t size = side.task.size;
    timed(side, [size](const Byte* from, Byte* to, std::uint64_t) { std::memcpy(to, from, size); });
}

void untransferred(Side& side) {
    const Task& task = side.task;
    if (side.receiver) {
        timed(side, [&](const Byte* from, Byte*, std::uint64_t i) {
            side.sums()[i] = static_cast<std::int64_t>(sum(from, task.size));
        });
    } else {
        timed(side, [&](const Byte*, Byte* to, std::uint64_t i) { rewrite(to, task.size, task.first(i)); });
    }
}

}  // namespace transport
