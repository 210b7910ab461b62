// SPDX-License-Identifier: BSD-3-Clause
// The first published step: packed tiles, and a core in plain loops, whose block of C is an array. The compiler may
// make of it what it can, for whichever instruction set a file that includes this is compiled.
#pragma once

#include "published.h"

namespace dgemm {

const Core& tiled_core_avx512();
const Core& tiled_core_avx2();

namespace {

constexpr std::int64_t kTiledRows = 8;
constexpr std::int64_t kTiledColumns = 28;

void multiply_plainly(const CoreCall& call) {
    double sum[kTiledColumns * kTiledRows] = {};
    for (std::int64_t l = 0; l < call.k; ++l) {
        for (std::int64_t j = 0; j < kTiledColumns; ++j) {
#pragma omp simd
            for (std::int64_t i = 0; i < kTiledRows; ++i) {
                sum[i + j * kTiledRows] += call.a[l * kTiledRows + i] * call.b[l * kTiledColumns + j];
            }
        }
    }
    store_part(call, sum, kTiledRows);
}

constexpr Core kTiledCore = {kTiledRows, kTiledColumns, multiply_plainly};

}  // namespace
}  // namespace dgemm
