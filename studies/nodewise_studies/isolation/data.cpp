// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <numeric>
#include <string_view>

#include "constants.h"
#include "study.h"

namespace isolation {
namespace {

// Numbers whose sum compute begins with.
constexpr std::uint64_t kFirst = 64;

Kernel kernel_of(const nw_run* run) {
    const char* text = nw_text(run, "kernel");
    const std::string_view name = text == nullptr ? "compute" : text;
    return name == "memory" ? Kernel::memory : name == "syscalls" ? Kernel::syscalls : Kernel::compute;
}

}  // namespace

Task task_of(const nw_run* run) {
    const auto kib = static_cast<std::uint64_t>(nw_number(run, "kib", 1));
    // the work is counted where there is no data yet
    const auto* first = static_cast<const std::uint64_t*>(nw_data(run, "first"));
    return {kernel_of(run),
            static_cast<std::uint64_t>(nw_number(run, "rounds", 1)),
            kib * 1024 / sizeof(std::uint64_t),
            first == nullptr ? 0 : std::accumulate(first, first + kFirst, std::uint64_t{0}),
            static_cast<std::uint64_t*>(nw_data(run, "array")),
            static_cast<std::uint64_t*>(nw_data(run, "result"))};
}

// The generator jumps: so many steps are one step with another factor (F. Brown, "Random number generation with
// arbitrary strides", 1994).
std::uint64_t expected(const Task& task) {
    if (task.kernel == Kernel::memory) {
        return task.rounds * task.words;
    }
    if (task.kernel == Kernel::syscalls) {
        return task.rounds;
    }
    std::uint64_t factor = 1;
    std::uint64_t added = 0;
    std::uint64_t step_factor = kFactor;
    std::uint64_t step_added = kAdded;
    for (std::uint64_t left = task.rounds; left > 0; left /= 2) {
        if (left % 2 != 0) {
            factor *= step_factor;
            added = added * step_factor + step_added;
        }
        step_added *= step_factor + 1;
        step_factor *= step_factor;
    }
    return factor * task.first + added;
}

int layout(nw_run* run) {
    const auto kib = static_cast<std::uint64_t>(nw_number(run, "kib", 1));
    const bool memory = kernel_of(run) == Kernel::memory;
    nw_declare(run, "first", NW_I64, NW_INPUT, kFirst);
    nw_declare(run, "array", NW_I64, NW_SCRATCH, memory ? kib * 1024 / sizeof(std::uint64_t) : 1);
    nw_declare(run, "result", NW_I64, NW_OUTPUT, 1);
    return 0;
}

int fill(nw_run* run) {
    auto* first = static_cast<std::uint64_t*>(nw_data(run, "first"));
    for (std::uint64_t i = 0; i < kFirst; ++i) {
        first[i] = nw_random(run->seed, i);
    }
    return 0;
}

int reset(nw_run* run) {
    const Task task = task_of(run);
    *task.result = 0;
    if (task.kernel == Kernel::memory) {
        std::fill_n(task.array, task.words, std::uint64_t{0});
    }
    return 0;
}

int check(nw_run* run) {
    const Task task = task_of(run);
    const std::uint64_t wanted = expected(task);
    return *task.result == wanted
               ? 0
               : nw_fail(run, "the result is %llu in place of %llu", static_cast<unsigned long long>(*task.result),
                         static_cast<unsigned long long>(wanted));
}

void work(const nw_run* run, nw_work* out) {
    const Task task = task_of(run);
    const double rounds = static_cast<double>(task.rounds);
    const double bytes = task.kernel == Kernel::memory ? 16 * rounds * static_cast<double>(task.words) : 0;
    *out = {rounds, 0, bytes, 0};
}

}  // namespace isolation
