// SPDX-License-Identifier: BSD-3-Clause
#include "tiled.h"

namespace dgemm {

const Core& tiled_core_avx512() { return kTiledCore; }

}  // namespace dgemm
