// SPDX-License-Identifier: BSD-3-Clause
// The first published step: packed tiles, and a core in plain loops, whose block of C is an array.
#include "published.h"
#include "variants.h"

namespace dgemm {
namespace {

constexpr int kRows = 8;
constexpr int kColumns = 28;

void multiply(const CoreCall& call) {
    double sum[kColumns * kRows] = {};
    for (std::int64_t l = 0; l < call.k; ++l) {
        for (int j = 0; j < kColumns; ++j) {
            for (int i = 0; i < kRows; ++i) {
                sum[i + j * kRows] += call.a[l * kRows + i] * call.b[l * kColumns + j];
            }
        }
    }
    store_part(call, sum, kRows);
}

constexpr Core kCore = {kRows, kColumns, multiply};

}  // namespace

int prepare_tiled(nw_run* run) { return prepare_published(run, kCore); }
int tiled(nw_run* run) { return multiply_published(run, kCore, false); }

}  // namespace dgemm
