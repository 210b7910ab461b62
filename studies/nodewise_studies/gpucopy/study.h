// SPDX-License-Identifier: BSD-3-Clause
// The task of a copy, and what the study's files share.
#pragma once

#include <cstdint>

#include "abi/kernel.h"

namespace gpucopy {

struct Task {
    std::uint64_t chunk;  // bytes
    std::uint64_t count;
    bool to_host;
    std::uint64_t bytes() const { return chunk * count; }
};

Task task_of(const nw_run* run);
// What lies on the host is one window that so many chunks go through in turn, larger than a last cache.
std::uint64_t window_of(const Task& task);

int layout(nw_run* run);
int fill(nw_run* run);
int reset(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);

}  // namespace gpucopy
