// SPDX-License-Identifier: BSD-3-Clause
// The peak: so many vectors of chains in registers that a new multiply-add can begin whenever a unit is free, while the
// older ones are still under way. Two units with a latency of 4 cycles need 8, four need 16.
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fused.cpp"
#include <omp.h>

#include <utility>

#include "chains.h"
#include "hwy/foreach_target.h"  // compiles this file again for each instruction set
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace flops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors that stay in registers: 16 where there are 32 of them, else as many of the 16 as the two constants leave.
#if HWY_ARCH_ARM || HWY_TARGET <= HWY_AVX3
constexpr std::size_t kVectors = 16;
#else
constexpr std::size_t kVectors = 12;
#endif

template <class D, class V, class... Vs>
HWY_INLINE void count_up(D d, hn::TFromD<D>* HWY_RESTRICT chains, std::int64_t steps, V one, V grow, Vs... x) {
    for (std::int64_t s = 0; s < steps; ++s) {
        ((x = hn::MulAdd(x, one, grow)), ...);
    }
    const std::size_t lanes = hn::Lanes(d);
    std::size_t at = 0;
    ((hn::Store(x, d, chains + lanes * at++)), ...);
}

template <class D, std::size_t... I>
HWY_INLINE void load_and_count(D d, hn::TFromD<D>* HWY_RESTRICT chains, std::int64_t steps, std::index_sequence<I...>) {
    using T = hn::TFromD<D>;
    const std::size_t lanes = hn::Lanes(d);
    count_up(d, chains, steps, hn::Set(d, static_cast<T>(factor)), hn::Set(d, static_cast<T>(addend)),
             hn::Load(d, chains + lanes * I)...);
}

// Groups of chains go to the threads as they become free: each is long against that.
template <typename T>
HWY_INLINE void count_all(const Chains& all, int threads) {
    const hn::ScalableTag<T> d;
    const auto group = static_cast<std::int64_t>(hn::Lanes(d) * kVectors);
    const std::int64_t groups = (all.count + group - 1) / group;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t g = 0; g < groups; ++g) {
        HWY_ALIGN T chains[hn::MaxLanes(hn::ScalableTag<T>()) * kVectors] = {};
        const std::int64_t begin = g * group;
        const std::int64_t count = all.count - begin < group ? all.count - begin : group;
        for (std::int64_t i = 0; i < count; ++i) {
            chains[i] = static_cast<T>(all.start[begin + i]);
        }
        load_and_count(d, chains, all.steps, std::make_index_sequence<kVectors>());
        for (std::int64_t i = 0; i < count; ++i) {
            all.end[begin + i] = static_cast<double>(chains[i]);
        }
    }
}

void count_f64(const Chains& all, int threads) { count_all<double>(all, threads); }

void count_f32(const Chains& all, int threads) { count_all<float>(all, threads); }

}  // namespace HWY_NAMESPACE
}  // namespace flops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flops {

HWY_EXPORT(count_f64);
HWY_EXPORT(count_f32);

int f64(nw_run* run) {
    HWY_DYNAMIC_DISPATCH(count_f64)(chains_of(run), run->threads);
    return 0;
}

int f32(nw_run* run) {
    HWY_DYNAMIC_DISPATCH(count_f32)(chains_of(run), run->threads);
    return 0;
}

}  // namespace flops
#endif
