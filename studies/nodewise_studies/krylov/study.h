// SPDX-License-Identifier: BSD-3-Clause
// The functions of the study's table; see abi/kernel.h for what each promises.
#pragma once

#include "abi/kernel.h"

namespace krylov {

int layout(nw_run* run);
int fill(nw_run* run);
int reset(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);
void release(nw_run* run);

int prepare_gmres(nw_run* run);
int prepare_orthomin(nw_run* run);
int gmres(nw_run* run);
int gmres_modified(nw_run* run);
int orthomin(nw_run* run);
int orthomin_modified(nw_run* run);

int prepare_petsc_gmres(nw_run* run);
int prepare_petsc_gmres_modified(nw_run* run);
int prepare_petsc_gcr(nw_run* run);
int petsc_solve(nw_run* run);

int prepare_sweep(nw_run* run);
int sweep(nw_run* run);

}  // namespace krylov
