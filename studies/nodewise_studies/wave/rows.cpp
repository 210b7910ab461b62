// SPDX-License-Identifier: BSD-3-Clause
#include "rows.h"

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rows.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wave {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// A line at most, which is what rows are padded to.
using Tag = hn::CappedTag<float, kLine>;
using V = hn::Vec<Tag>;

// The lanes of a row's points k before and k behind those of `now`, added: of three neighbouring vectors where an
// instruction takes them from two, since a load that crosses lines costs two.
template <int kDistance>
HWY_INLINE V beside([[maybe_unused]] Tag d, [[maybe_unused]] const float* at, [[maybe_unused]] V left,
                    [[maybe_unused]] V now, [[maybe_unused]] V right) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    const auto as_integers = [](V v) { return _mm512_castps_si512(v.raw); };
    const __m512i before = _mm512_alignr_epi32(as_integers(now), as_integers(left), kLine - kDistance);
    const __m512i behind = _mm512_alignr_epi32(as_integers(right), as_integers(now), kDistance);
    return hn::Add(V{_mm512_castsi512_ps(before)}, V{_mm512_castsi512_ps(behind)});
#else
    return hn::Add(hn::LoadU(d, at - kDistance), hn::LoadU(d, at + kDistance));
#endif
}

template <int kRadius, int kDistance = 1>
HWY_INLINE V along_x(Tag d, const float* at, V left, V now, V right, const float* weight, V sum) {
    if constexpr (kDistance <= kRadius) {
        const V more = beside<kDistance>(d, at, left, now, right);
        return along_x<kRadius, kDistance + 1>(d, at, left, now, right, weight,
                                               hn::MulAdd(hn::Set(d, weight[kDistance]), more, sum));
    } else {
        return sum;
    }
}

// Rows that what comes from memory is asked for ahead: rows are too short for the processor to foresee it.
constexpr std::int64_t kAhead = 2;

// Whole vectors: right of a row c and the field are 0, and stay so.
template <int kRadius>
HWY_INLINE void update_row(const Rows& r, std::int64_t y) {
    const Tag d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const float* now = r.now + y * r.row;
    float* before = r.before + y * r.row;
    const float* c = r.c + y * r.row;
    const V kept = hn::Set(d, r.keep_z * r.keep_y[y]);
    V left = hn::Load(d, now - lanes);
    V middle = hn::Load(d, now);
    for (std::int64_t x = 0; x < r.nx; x += lanes) {
        const V right = hn::Load(d, now + x + lanes);
        V sum = hn::Mul(hn::Set(d, r.weight[0]), middle);
#pragma GCC unroll 8
        for (int k = 1; k <= kRadius; ++k) {
            const float* at = now + x;
            const V along_y = hn::Add(hn::Load(d, at - k * r.row), hn::Load(d, at + k * r.row));
            const V along_z = hn::Add(hn::Load(d, at - k * r.plane), hn::Load(d, at + k * r.plane));
            sum = hn::MulAdd(hn::Set(d, r.weight[k]), hn::Add(along_y, along_z), sum);
        }
        sum = along_x<kRadius>(d, now + x, left, middle, right, r.weight, sum);
        const std::int64_t next = kAhead * r.row + x;
        hwy::Prefetch(now + next + kRadius * r.plane);
        hwy::Prefetch(before + next);
        hwy::Prefetch(c + next);
        const V keep = hn::Mul(kept, hn::LoadU(d, r.keep_x + x));
        const V moved = hn::MulAdd(keep, hn::Sub(middle, hn::Load(d, before + x)), middle);
        hn::Store(hn::MulAdd(hn::Load(d, c + x), sum, moved), d, before + x);
        left = middle;
        middle = right;
    }
}

template <int kRadius>
void update(const Rows& r) {
    for (std::int64_t y = 0; y < r.rows; ++y) {
        update_row<kRadius>(r, y);
    }
}

UpdateRows chosen(int radius) {
    constexpr UpdateRows kUpdates[] = {update<1>, update<2>, update<3>, update<4>,
                                       update<5>, update<6>, update<7>, update<8>};
    return kUpdates[radius - 1];
}

void stream_of(const float* now, float* before, const float* c, std::int64_t count) {
    const Tag d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t i = 0; i + lanes <= count; i += lanes) {
        const V u = hn::Load(d, now + i);
        hn::Store(hn::MulAdd(hn::Load(d, c + i), u, hn::Sub(u, hn::Load(d, before + i))), d, before + i);
    }
}

StreamPart stream_chosen() { return stream_of; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace wave
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wave {

HWY_EXPORT(chosen);
HWY_EXPORT(stream_chosen);

UpdateRows update_rows(int radius) { return HWY_DYNAMIC_DISPATCH(chosen)(radius); }
StreamPart stream_part() { return HWY_DYNAMIC_DISPATCH(stream_chosen)(); }

}  // namespace wave
#endif
