// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/kernel.h"
#include "codecs.h"

namespace compress {

int layout(nw_run* run);
int fill(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);
void release(nw_run* run);

// Makes each thread's codec and its memory.
int open_codecs(nw_run* run, Library library, int level);

// Packs and unpacks every block and reports the library's own time as that of the run.
int round_trip(nw_run* run);

}  // namespace compress
