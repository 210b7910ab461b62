// SPDX-License-Identifier: BSD-3-Clause
// While it lives, its thread takes numbers too small for full precision for 0: ahead of a wave there are many, and each
// costs a hundred cycles.
#pragma once

#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace wave {

class Flush {
  public:
#if defined(__SSE__)
    Flush() : was_(_mm_getcsr()) { _mm_setcsr(was_ | 0x8040U); }
    ~Flush() { _mm_setcsr(was_); }
#elif defined(__aarch64__)
    Flush() {
        __asm__ volatile("mrs %0, fpcr" : "=r"(was_));
        const std::uint64_t with = was_ | (std::uint64_t{1} << 24U);
        __asm__ volatile("msr fpcr, %0" : : "r"(with));
    }
    ~Flush() { __asm__ volatile("msr fpcr, %0" : : "r"(was_)); }
#else
    Flush() : was_(0) {}
    ~Flush() = default;
#endif
    Flush(const Flush&) = delete;
    Flush& operator=(const Flush&) = delete;

  private:
#if defined(__aarch64__)
    std::uint64_t was_;
#else
    [[maybe_unused]] unsigned was_;
#endif
};

}  // namespace wave
