// SPDX-License-Identifier: BSD-3-Clause
// C = A · B by rows, where row i of A ends after lengths[i] elements: what the variants share, and the table's
// functions.
#pragma once

#include <cstdint>

#include "abi/kernel.h"

namespace schedule {

struct Product {
    std::int64_t n;
    const std::int32_t* lengths;
    const double* a;
    const double* b;
    double* c;
};

using RowLoop = void (*)(const Product&, std::int64_t row);

Product product_of(const nw_run* run);
// The loops of the knob `order`, for one row of C.
RowLoop row_loop(const nw_run* run);
// How many elements of A's row are not zero: its cost. Known without the data.
std::int64_t row_length(const nw_run* run, std::int64_t row);

int layout(nw_run* run);
int fill(nw_run* run);
int reset(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);

int with_static(nw_run* run);
int with_dynamic(nw_run* run);
int with_monotonic(nw_run* run);
int with_guided(nw_run* run);
int with_auto(nw_run* run);
int with_runtime(nw_run* run);
int with_taskloop(nw_run* run);
int by_work(nw_run* run);
int std_thread(nw_run* run);
// A thread's seconds go to memory that the run owns.
int prepare(nw_run* run);

}  // namespace schedule
