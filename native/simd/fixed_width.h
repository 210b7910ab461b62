// SPDX-License-Identifier: BSD-3-Clause
// Included before Highway in place of targets.h: arrays of vectors, which kernels keep in registers, need vectors of a
// size that is known when this is compiled.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
