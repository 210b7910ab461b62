// SPDX-License-Identifier: BSD-3-Clause
// For a program: which of Highway's targets this x86 processor has, instead of Highway's library, which up to 1.2
// measures the clock for 4 ms whenever it is loaded (nanobenchmark.cc, timer_resolution).
#include <hwy/highway.h>

#include <cstdint>

#if HWY_ARCH_X86

namespace {

// What each target asks for is said in hwy/detect_targets.h.
bool has_sse4() {
    return __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0 &&
           __builtin_cpu_supports("aes") != 0;
}

bool has_avx2() {
    return has_sse4() && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("lzcnt") != 0 &&
           __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0 &&
           __builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("f16c") != 0;
}

bool has_avx3() {
    return has_avx2() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
           __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512cd") != 0;
}

int64_t detected() {
    __builtin_cpu_init();
    // the baseline runs wherever the program does
    int64_t targets = HWY_STATIC_TARGET;
    if (__builtin_cpu_supports("ssse3") != 0) {
        targets |= HWY_SSSE3;
    }
    if (has_sse4()) {
        targets |= HWY_SSE4;
    }
    if (has_avx2()) {
        targets |= HWY_AVX2;
    }
    if (has_avx3()) {
        targets |= HWY_AVX3;
    }
    return targets;
}

int64_t& forced() {
    static int64_t targets = 0;
    return targets;
}

}  // namespace

namespace hwy {

int64_t SupportedTargets() {
    static const int64_t targets = detected();
    return forced() != 0 ? forced() : targets;
}

void SetSupportedTargetsForTest(int64_t targets) {
    forced() = targets;
    GetChosenTarget().DeInit();
}

ChosenTarget& GetChosenTarget() {
    static ChosenTarget chosen;
    return chosen;
}

}  // namespace hwy

#endif  // HWY_ARCH_X86
