// SPDX-License-Identifier: BSD-3-Clause
// Which instruction sets Highway can choose between, and the choice of one: linked into each study that uses it.
#include "simd/targets.h"
//
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace {

// Those compiled for that this processor has, the best first (Highway numbers them so).
int64_t runnable() { return hwy::SupportedTargets() & HWY_TARGETS; }

}  // namespace

extern "C" {

const char* nodewise_simd_targets(void) {
    static const std::string names = [] {
        std::string all;
        for (int64_t rest = runnable(); rest != 0; rest &= rest - 1) {
            all += std::string(hwy::TargetName(rest & -rest)) + " ";
        }
        return all;
    }();
    return names.c_str();
}

int nodewise_simd_choose(const char* name) {
    for (int64_t rest = runnable(); rest != 0; rest &= rest - 1) {
        if (std::strcmp(hwy::TargetName(rest & -rest), name) == 0) {
            hwy::SetSupportedTargetsForTest(rest & -rest);
            return 0;
        }
    }
    return 1;
}

}  // extern "C"
