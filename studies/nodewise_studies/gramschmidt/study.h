// SPDX-License-Identifier: BSD-3-Clause
// The functions of the study's table; see abi/kernel.h for what each promises.
#pragma once

#include "abi/kernel.h"

namespace gramschmidt {

int layout(nw_run* run);
int fill(nw_run* run);
int check(nw_run* run);
void release(nw_run* run);

int prepare(nw_run* run);
int modified(nw_run* run);
int modified_deferred(nw_run* run);
int classic(nw_run* run);
int classic_twice(nw_run* run);
int panels(nw_run* run);

// The least that any of them moves, and what each does.
void work(const nw_run* run, nw_work* out);
void modified_work(const nw_run* run, nw_work* out);
void modified_deferred_work(const nw_run* run, nw_work* out);
void classic_work(const nw_run* run, nw_work* out);
void classic_twice_work(const nw_run* run, nw_work* out);
void panels_work(const nw_run* run, nw_work* out);

int prepare_petsc(nw_run* run);
int petsc_modified(nw_run* run);
int petsc_classic(nw_run* run);

}  // namespace gramschmidt
