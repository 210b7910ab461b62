// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

using namespace krylov;

constexpr nw_variant kVariants[] = {
    {.name = "gmres", .needs = "simd", .run = gmres, .prepare = prepare_gmres},
    {.name = "gmres-modified", .needs = "simd", .run = gmres_modified, .prepare = prepare_gmres},
    {.name = "orthomin", .needs = "simd", .run = orthomin, .prepare = prepare_orthomin},
    {.name = "orthomin-modified", .needs = "simd", .run = orthomin_modified, .prepare = prepare_orthomin},
    {.name = "petsc-gmres", .kind = NW_PEER, .run = petsc_solve, .prepare = prepare_petsc_gmres, .library = "petsc"},
    {.name = "petsc-gmres-modified",
     .kind = NW_PEER,
     .run = petsc_solve,
     .prepare = prepare_petsc_gmres_modified,
     .library = "petsc"},
    {.name = "petsc-gcr", .kind = NW_PEER, .run = petsc_solve, .prepare = prepare_petsc_gcr, .library = "petsc"},
    {.name = "reading", .kind = NW_LIMIT, .needs = "simd", .run = sweep, .prepare = prepare_sweep},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "krylov",
    .layout = layout,
    .fill = fill,
    .reset = reset,
    .check = check,
    .work = work,
    .release = release,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
