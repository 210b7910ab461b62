// SPDX-License-Identifier: BSD-3-Clause
// As anybody writes it: one element after the other, and the C library's function.
#include <cmath>

#include "study.h"

namespace maskmath {
namespace {

template <double (*kFunction)(double)>
void one_by_one(const Part* part) {
    for (int64_t i = 0; i < part->count; ++i) {
        part->y[i] = part->mask[i] != 0 ? kFunction(part->x[i]) : part->kept[i];
    }
}

}  // namespace

int branch(nw_run* run) {
    constexpr void (*kKernels[kFunctions])(const Part*) = {
        one_by_one<std::exp>, one_by_one<std::log>,  one_by_one<std::sin>,
        one_by_one<std::cos>, one_by_one<std::sqrt>, one_by_one<std::acosh>,
    };
    return in_parts(run, kKernels[static_cast<const State*>(run->own)->function], true);
}

}  // namespace maskmath
