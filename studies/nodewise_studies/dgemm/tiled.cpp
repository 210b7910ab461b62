// SPDX-License-Identifier: BSD-3-Clause
#include "tiled.h"

#include "processor.h"
#include "study.h"

namespace dgemm {
namespace {

// Plain loops, but for the widest vectors that the processor has, as all that they are compared with.
const Core& tiled_core() {
#if defined(__x86_64__)
    if (has_avx512()) {
        return tiled_core_avx512();
    }
    if (has_avx2()) {
        return tiled_core_avx2();
    }
#endif
    return kTiledCore;
}

}  // namespace

int prepare_tiled(nw_run* run) { return prepare_published(run, tiled_core()); }
int tiled(nw_run* run) { return multiply_published(run, tiled_core(), false); }

}  // namespace dgemm
