// SPDX-License-Identifier: BSD-3-Clause
// The loop as anybody writes it. Each file that includes this has a copy of its own, compiled as that file is.
#pragma once

#include <cmath>

#include "study.h"

namespace veclog {
namespace {

inline int serial(nw_run* run) {
    const int64_t n = size(run);
    const double* a = left(run);
    const double* b = right(run);
    double* c = product(run);
    for (int64_t i = 0; i < n; ++i) {
        c[i] = std::log(a[i]) * std::log(b[i]);
    }
    return 0;
}

inline int parallel(nw_run* run) {
    const int64_t n = size(run);
    const double* a = left(run);
    const double* b = right(run);
    double* c = product(run);
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (int64_t i = 0; i < n; ++i) {
        c[i] = std::log(a[i]) * std::log(b[i]);
    }
    return 0;
}

}  // namespace
}  // namespace veclog
