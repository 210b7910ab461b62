// SPDX-License-Identifier: BSD-3-Clause
// The knobs `row_schedule` and `chunk`, for loops of schedule(runtime).
#pragma once

#include <omp.h>

#include <cstring>

#include "abi/kernel.h"

namespace dgemm {

inline void choose_schedule(const nw_run* run) {
    const char* name = nw_text(run, "row_schedule");
    omp_sched_t kind = omp_sched_static;
    if (name != nullptr && std::strcmp(name, "dynamic") == 0) {
        kind = omp_sched_dynamic;
    } else if (name != nullptr && std::strcmp(name, "guided") == 0) {
        kind = omp_sched_guided;
    }
    omp_set_schedule(kind, static_cast<int>(nw_number(run, "chunk", 0)));
}

}  // namespace dgemm
