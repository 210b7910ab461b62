// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

using namespace gramschmidt;

constexpr nw_variant kVariants[] = {
    {.name = "modified", .needs = "simd", .run = modified, .prepare = prepare, .work = modified_work},
    {.name = "modified-deferred",
     .needs = "simd",
     .run = modified_deferred,
     .prepare = prepare,
     .work = modified_deferred_work},
    {.name = "classic", .needs = "simd", .run = classic, .prepare = prepare, .work = classic_work},
    {.name = "classic-twice", .needs = "simd", .run = classic_twice, .prepare = prepare, .work = classic_twice_work},
    {.name = "panels", .needs = "simd", .run = panels, .prepare = prepare, .work = panels_work},
    {.name = "petsc-modified",
     .kind = NW_PEER,
     .run = petsc_modified,
     .prepare = prepare_petsc,
     .work = modified_work,
     .library = "petsc"},
    {.name = "petsc-classic",
     .kind = NW_PEER,
     .run = petsc_classic,
     .prepare = prepare_petsc,
     .work = classic_work,
     .library = "petsc"},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "gramschmidt",
    .layout = layout,
    .fill = fill,
    .check = check,
    .work = work,
    .release = release,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
