// SPDX-License-Identifier: BSD-3-Clause
// What the processor has of the instruction sets that files here are compiled for.
#pragma once

namespace dgemm {

#if defined(__x86_64__)
inline bool has_avx512() {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

inline bool has_avx2() { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; }
#endif

}  // namespace dgemm
