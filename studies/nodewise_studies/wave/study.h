// SPDX-License-Identifier: BSD-3-Clause
// The functions of the study's table; see abi/kernel.h for what each promises.
#pragma once

#include "abi/kernel.h"

namespace wave {

int layout(nw_run* run);
int fill(nw_run* run);
int reset(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);
void release(nw_run* run);

int plain(nw_run* run);
int simd(nw_run* run);
int blocked(nw_run* run);
int temporal(nw_run* run);
void temporal_work(const nw_run* run, nw_work* out);
int stream(nw_run* run);

}  // namespace wave
