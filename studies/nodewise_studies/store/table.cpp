// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

using store::Kind;

template <Kind kind>
int under(nw_run* run) {
    return store::serve(run, kind);
}

constexpr nw_variant kVariants[] = {
    {.name = "spin", .run = under<Kind::kSpin>, .prepare = store::prepare},
    {.name = "ticket", .run = under<Kind::kTicket>, .prepare = store::prepare},
    {.name = "mutex", .run = under<Kind::kMutex>, .prepare = store::prepare},
    {.name = "rwlock", .run = under<Kind::kRwlock>, .prepare = store::prepare},
    {.name = "elided", .needs = "rtm", .run = under<Kind::kElided>, .prepare = store::prepare},
    {.name = "shared_mutex", .run = under<Kind::kSharedMutex>, .prepare = store::prepare},
    {.name = "lmdb", .kind = NW_PEER, .run = store::lmdb, .prepare = store::prepare_lmdb, .library = "lmdb"},
    {.name = "log", .kind = NW_LIMIT, .run = store::log_only, .prepare = store::prepare},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "store",
    .layout = store::layout,
    .fill = store::fill,
    .reset = store::reset,
    .check = store::check,
    .work = store::work,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
