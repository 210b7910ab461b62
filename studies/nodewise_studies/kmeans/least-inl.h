// SPDX-License-Identifier: BSD-3-Clause
// The least of a vector's lanes. Included once per instruction set.
#if defined(KMEANS_LEAST_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KMEANS_LEAST_INL_H_
#undef KMEANS_LEAST_INL_H_
#else
#define KMEANS_LEAST_INL_H_
#endif

#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace kmeans {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// In all lanes. Highway's own starts from the largest finite number where it emulates vectors.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V least_of(D d, V lanes) {
    const V infinite = hn::Set(d, std::numeric_limits<float>::infinity());
    return hn::AllTrue(d, hn::Eq(lanes, infinite)) ? infinite : hn::MinOfLanes(d, lanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace kmeans
HWY_AFTER_NAMESPACE();

#endif  // KMEANS_LEAST_INL_H_
