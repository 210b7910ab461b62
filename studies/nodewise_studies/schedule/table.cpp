// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {.name = "static", .run = schedule::with_static, .prepare = schedule::prepare},
    {.name = "dynamic", .run = schedule::with_dynamic, .prepare = schedule::prepare},
    {.name = "monotonic", .run = schedule::with_monotonic, .prepare = schedule::prepare},
    {.name = "guided", .run = schedule::with_guided, .prepare = schedule::prepare},
    {.name = "auto", .run = schedule::with_auto, .prepare = schedule::prepare},
    {.name = "runtime", .run = schedule::with_runtime, .prepare = schedule::prepare},
    {.name = "taskloop", .run = schedule::with_taskloop, .prepare = schedule::prepare},
    {.name = "by_work", .run = schedule::by_work, .prepare = schedule::prepare},
    {.name = "std_thread", .kind = NW_PEER, .run = schedule::std_thread, .prepare = schedule::prepare},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "schedule",
    .layout = schedule::layout,
    .fill = schedule::fill,
    .reset = schedule::reset,
    .check = schedule::check,
    .work = schedule::work,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
