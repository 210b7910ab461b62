// SPDX-License-Identifier: BSD-3-Clause
// Both logarithms in vectors, by one inlined function that needs no special cases, and a product that is not read again
// written past the caches.
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "simd/targets.h"
#include "study.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include "hwy/highway.h"
#include "simd_math/log-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veclog {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
namespace sm = simd_math::HWY_NAMESPACE;

template <bool kStream>
void multiply(const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, double* HWY_RESTRICT c, std::int64_t n) {
    const hn::ScalableTag<double> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        const auto y = hn::Mul(sm::log_lanes_quick(d, hn::Load(d, a + i)), sm::log_lanes_quick(d, hn::Load(d, b + i)));
        if constexpr (kStream) {
            hn::Stream(y, d, c + i);
        } else {
            hn::Store(y, d, c + i);
        }
    }
    if (i < n) {
        HWY_ALIGN double rest[2][HWY_MAX_BYTES / sizeof(double)];
        std::fill(rest[0], rest[0] + lanes, 1.0);
        std::fill(rest[1], rest[1] + lanes, 1.0);
        std::copy(a + i, a + n, rest[0]);
        std::copy(b + i, b + n, rest[1]);
        hn::Store(hn::Mul(sm::log_lanes_quick(d, hn::Load(d, rest[0])), sm::log_lanes_quick(d, hn::Load(d, rest[1]))),
                  d, rest[0]);
        std::copy(rest[0], rest[0] + (n - i), c + i);
    }
    if constexpr (kStream) {
        hwy::FlushStream();
    }
}

void multiply_part(const double* a, const double* b, double* c, std::int64_t n, bool stream) {
    if (stream) {
        multiply<true>(a, b, c, n);
    } else {
        multiply<false>(a, b, c, n);
    }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace veclog
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veclog {
namespace {

HWY_EXPORT(multiply_part);

// A product that fits the last cache along with its inputs is better left there.
bool should_stream(const nw_run* run) {
    const char* store = nw_text(run, "store");
    if (store != nullptr && std::strcmp(store, "auto") != 0) {
        return std::strcmp(store, "stream") == 0;
    }
    return nw_exceeds_cache(24 * static_cast<std::uint64_t>(size(run))) != 0;
}

}  // namespace

int simd(nw_run* run) {
    const std::int64_t n = size(run);
    const bool stream = should_stream(run);
#pragma omp parallel num_threads(run->threads)
    {
        // whole cache lines to each thread
        constexpr std::int64_t kLine = 8;
        const std::int64_t lines = (n + kLine - 1) / kLine;
        const int thread = omp_get_thread_num();
        const int threads = omp_get_num_threads();
        const std::int64_t begin = std::min(n, lines * thread / threads * kLine);
        const std::int64_t end = std::min(n, lines * (thread + 1) / threads * kLine);
        HWY_DYNAMIC_DISPATCH(multiply_part)(left(run) + begin, right(run) + begin, product(run) + begin, end - begin,
                                            stream);
    }
    return 0;
}

}  // namespace veclog
#endif
