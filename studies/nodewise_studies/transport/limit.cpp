// SPDX-License-Identifier: BSD-3-Clause
// What no transport can do without, at the same time on both sides: messages are written anew, and summed.
#include "pair.h"

namespace transport {

int untransferred(nw_run* run) {
    const Task task = task_of(run);
    const auto side = [&](bool sums) {
        const Own own(std::max<std::uint64_t>(1, task.words()));
        const Clock::time_point begin = Clock::now();
        std::int64_t seen = 0;
        for (std::uint64_t i = 0; i < task.messages; ++i) {
            if (sums) {
                seen += sum(own.words(), task.words());
                asm volatile("" : "+r"(seen)::"memory");  // each time
            } else {
                rewrite(own.words(), task.words(), task.first[i]);
                asm volatile("" ::: "memory");
            }
        }
        return since(begin);
    };
    double summing = 0;
    double writing = 0;
    const int status = together(
        run, "untransferred",
        [&] {
            summing = side(true);
            return true;
        },
        [&] {
            writing = side(false);
            return true;
        },
        [] {});
    nw_report(run, "seconds", std::max(summing, writing));
    return status;
}

}  // namespace transport
