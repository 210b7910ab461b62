// SPDX-License-Identifier: BSD-3-Clause
// Included before Highway: for which instruction sets it compiles. Processors that end with SSSE3, of before 2008, run
// the baseline's code: they are not worth a fifth of all.
#pragma once

#define HWY_DISABLED_TARGETS HWY_SSSE3
