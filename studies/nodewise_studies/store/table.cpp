// SPDX-License-Identifier: BSD-3-Clause
#include "store.h"

namespace {

using store::Kind;

template <Kind kind>
int under(nw_run* run) {
    return store::serve(run, kind);
}

constexpr nw_variant kVariants[] = {
    {"spin", NW_VARIANT, "", under<Kind::kSpin>, store::prepare, nullptr, nullptr},
    {"ticket", NW_VARIANT, "", under<Kind::kTicket>, store::prepare, nullptr, nullptr},
    {"mutex", NW_VARIANT, "", under<Kind::kMutex>, store::prepare, nullptr, nullptr},
    {"rwlock", NW_VARIANT, "", under<Kind::kRwlock>, store::prepare, nullptr, nullptr},
    {"elided", NW_VARIANT, "rtm", under<Kind::kElided>, store::prepare, nullptr, nullptr},
    {"shared_mutex", NW_VARIANT, "", under<Kind::kSharedMutex>, store::prepare, nullptr, nullptr},
    {"lmdb", NW_PEER, "", store::lmdb, store::prepare_lmdb, nullptr, "lmdb"},
    {"log", NW_LIMIT, "", store::log_only, store::prepare, nullptr, nullptr},
};

constexpr nw_study kStudy{
    NW_ABI,       "store",     store::layout, store::fill, store::reset,
    store::check, store::work, nullptr,       kVariants,   sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
