// SPDX-License-Identifier: BSD-3-Clause
// The functions of the study's table; see abi/kernel.h for what each promises.
#pragma once

#include "abi/kernel.h"

namespace latency {

int layout(nw_run* run);
int fill(nw_run* run);
int reset(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);
int chase(nw_run* run);

}  // namespace latency
