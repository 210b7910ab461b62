// SPDX-License-Identifier: BSD-3-Clause
#include "tiled.h"

namespace dgemm {

const Core& tiled_core_avx2() { return kTiledCore; }

}  // namespace dgemm
