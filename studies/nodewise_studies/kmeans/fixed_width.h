// SPDX-License-Identifier: BSD-3-Clause
// Included before Highway: arrays of vectors, which the kernels keep in registers, need vectors of a known size.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
