// SPDX-License-Identifier: BSD-3-Clause
// Calls every function of native/simd_math on every instruction set that this machine has, with each number of the
// standard input in each lane among harmless ones, and prints a line for each: target, function, argument, result (both
// as bits), and the floating-point exceptions that were raised.
#include <cfenv>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exceptions.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include "hwy/highway.h"
#include "simd_math/acosh-inl.h"
#include "simd_math/exp-inl.h"
#include "simd_math/log-inl.h"
#include "simd_math/sincos-inl.h"
#include "simd_math/sqrt-inl.h"

HWY_BEFORE_NAMESPACE();
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// In place, so that a compiler can move none of it across the reading of the flags.
void compute(int function, double* x) {
    const hn::ScalableTag<double> d;
    using namespace simd_math::HWY_NAMESPACE;
    const auto v = hn::Load(d, x);
    switch (function) {
        case 0:
            hn::Store(exp_lanes(d, v), d, x);
            break;
        case 1:
            hn::Store(log_lanes(d, v), d, x);
            break;
        case 2:
            hn::Store(log_lanes_quick(d, v), d, x);
            break;
        case 3:
            hn::Store(sin_lanes(d, v), d, x);
            break;
        case 4:
            hn::Store(sin_lanes_quick(d, v), d, x);
            break;
        case 5:
            hn::Store(cos_lanes(d, v), d, x);
            break;
        case 6:
            hn::Store(cos_lanes_quick(d, v), d, x);
            break;
        case 7:
            hn::Store(sqrt_lanes_by_steps(d, v), d, x);
            break;
        case 8:
            acosh_in_place(d, x, hn::Lanes(d));
            break;
        case 9:
            acosh_in_place<false>(d, x, hn::Lanes(d));
            break;
    }
}

std::size_t lanes() { return hn::Lanes(hn::ScalableTag<double>()); }

}  // namespace HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

HWY_EXPORT(compute);
HWY_EXPORT(lanes);

namespace {

// A name, and what is in the other lanes: its result is exact.
struct Function {
    const char* name;
    double harmless;
};

constexpr Function kFunctions[] = {{"exp", 0}, {"log", 1},       {"log_quick", 1}, {"sin", 0},   {"sin_quick", 0},
                                   {"cos", 0}, {"cos_quick", 0}, {"sqrt", 4},      {"acosh", 1}, {"acosh_quick", 1}};

std::uint64_t bits(double x) {
    std::uint64_t b;
    std::memcpy(&b, &x, sizeof b);
    return b;
}

void try_all(const char* target, const std::vector<double>& arguments) {
    // as many as any target has
    constexpr std::size_t kMost = 256 / sizeof(double);
    HWY_ALIGN_MAX double x[kMost];
    const std::size_t count = HWY_DYNAMIC_DISPATCH(lanes)();
    int index = 0;
    for (const Function& function : kFunctions) {
        for (const double argument : arguments) {
            for (std::size_t lane = 0; lane < count; ++lane) {
                for (std::size_t i = 0; i < count; ++i) {
                    x[i] = i == lane ? argument : function.harmless;
                }
                std::feclearexcept(FE_ALL_EXCEPT);
                HWY_DYNAMIC_DISPATCH(compute)(index, x);
                const int raised = std::fetestexcept(FE_ALL_EXCEPT);
                std::printf("%s %s %016" PRIx64 " %016" PRIx64 "%s%s%s%s%s\n", target, function.name, bits(argument),
                            bits(x[lane]), (raised & FE_INVALID) != 0 ? " invalid" : "",
                            (raised & FE_DIVBYZERO) != 0 ? " divide-by-zero" : "",
                            (raised & FE_OVERFLOW) != 0 ? " overflow" : "",
                            (raised & FE_UNDERFLOW) != 0 ? " underflow" : "",
                            (raised & FE_INEXACT) != 0 ? " inexact" : "");
            }
        }
        ++index;
    }
}

}  // namespace

int main() {
    std::vector<double> arguments;
    for (std::uint64_t b; std::scanf("%" SCNx64, &b) == 1;) {
        double x;
        std::memcpy(&x, &b, sizeof x);
        arguments.push_back(x);
    }
    for (std::int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
        hwy::SetSupportedTargetsForTest(rest & -rest);
        try_all(hwy::TargetName(rest & -rest), arguments);
    }
}

#endif
