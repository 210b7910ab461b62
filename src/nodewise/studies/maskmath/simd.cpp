// SPDX-License-Identifier: BSD-3-Clause
// Vectors by Highway: blending around a full call, native masks, and calls for the chosen elements alone.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "study.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include "hwy/highway.h"
#include "simd_math/acosh-inl.h"
#include "simd_math/exp-inl.h"
#include "simd_math/log-inl.h"
#include "simd_math/sincos-inl.h"

HWY_BEFORE_NAMESPACE();
namespace maskmath {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
namespace sm = simd_math::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;

template <Function kFunction>
HWY_INLINE V value(D d, V x) {
    if constexpr (kFunction == kExp) {
        return sm::exp_lanes(d, x);
    } else if constexpr (kFunction == kLog) {
        return sm::log_lanes(d, x);
    } else if constexpr (kFunction == kSin) {
        return sm::sin_lanes(d, x);
    } else if constexpr (kFunction == kCos) {
        return sm::cos_lanes(d, x);
    } else if constexpr (kFunction == kSqrt) {
        return hn::Sqrt(x);
    } else {
        return sm::acosh_lanes(d, x);
    }
}

// A mask of as many lanes from bytes that are 0 or not.
HWY_INLINE M mask_of(D d, const std::uint8_t* bytes) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    (void)d;
    const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
    return M{static_cast<__mmask8>(_mm_test_epi8_mask(eight, eight))};
#else
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<std::uint32_t, D> d32;
    const hn::Rebind<std::uint8_t, D> d8;
    const auto wide = hn::PromoteTo(du, hn::PromoteTo(d32, hn::LoadU(d8, bytes)));
    return hn::RebindMask(d, hn::Ne(wide, hn::Zero(du)));
#endif
}

// How one vector's worth is done: `x`, `mask` and `kept` as they lie in memory.
struct Blend {
    static constexpr bool kSkips = false;
    // always the full call; masked-off lanes are patched before and replaced after
    template <Function kFunction>
    static HWY_INLINE V apply(D d, const double* x, const std::uint8_t* mask, const double* kept) {
        const M on = mask_of(d, mask);
        const V patched = hn::IfThenElse(on, hn::LoadU(d, x), hn::Set(d, kHarmless[kFunction]));
        return hn::IfThenElse(on, value<kFunction>(d, patched), hn::LoadU(d, kept));
    }
};

struct Native {
    // masked-off lanes are not even loaded
    static constexpr bool kSkips = true;
    template <Function kFunction>
    static HWY_INLINE V apply(D d, const double* x, const std::uint8_t* mask, const double* kept) {
        const M on = mask_of(d, mask);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
        const V patched{_mm512_mask_loadu_pd(hn::Set(d, kHarmless[kFunction]).raw, on.raw, x)};
#else
        const V patched = hn::IfThenElse(on, hn::LoadU(d, x), hn::Set(d, kHarmless[kFunction]));
#endif
        return hn::IfThenElse(on, value<kFunction>(d, patched), hn::LoadU(d, kept));
    }
};

struct Move {
    static constexpr bool kSkips = false;
    // no function at all
    template <Function kFunction>
    static HWY_INLINE V apply(D d, const double* x, const std::uint8_t* mask, const double* kept) {
        return hn::IfThenElse(mask_of(d, mask), hn::LoadU(d, x), hn::LoadU(d, kept));
    }
};

template <bool kStream>
HWY_INLINE void put(D d, V y, double* to) {
    if constexpr (kStream) {
        hn::Stream(y, d, to);
    } else {
        hn::Store(y, d, to);
    }
}

// Elements that are looked at together, whether any of them is chosen: a branch for each vector would be guessed wrong
// too often where few are.
constexpr std::int64_t kGroup = 64;

HWY_INLINE bool none_of(const std::uint8_t* mask) {
    std::uint64_t words[kGroup / 8];
    std::memcpy(words, mask, sizeof words);
    std::uint64_t all = 0;
    for (const std::uint64_t word : words) {
        all |= word;
    }
    return all == 0;
}

template <Function kFunction, class Way, bool kStream>
void each_vector(const Part* part) {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + kGroup <= part->count; i += kGroup) {
        if (Way::kSkips && none_of(part->mask + i)) {
            for (std::int64_t k = i; k < i + kGroup; k += lanes) {
                put<kStream>(d, hn::LoadU(d, part->kept + k), part->y + k);
            }
            continue;
        }
        for (std::int64_t k = i; k < i + kGroup; k += lanes) {
            put<kStream>(d, Way::template apply<kFunction>(d, part->x + k, part->mask + k, part->kept + k),
                         part->y + k);
        }
    }
    for (; i + lanes <= part->count; i += lanes) {
        put<kStream>(d, Way::template apply<kFunction>(d, part->x + i, part->mask + i, part->kept + i), part->y + i);
    }
    if (i < part->count) {
        // the rest of the last vector is masked off
        constexpr std::size_t kMost = HWY_MAX_BYTES / sizeof(double);
        HWY_ALIGN double x[kMost] = {};
        HWY_ALIGN double kept[kMost] = {};
        HWY_ALIGN double y[kMost];
        std::uint8_t mask[HWY_MAX_BYTES] = {};
        std::copy(part->x + i, part->x + part->count, x);
        std::copy(part->kept + i, part->kept + part->count, kept);
        std::copy(part->mask + i, part->mask + part->count, mask);
        hn::Store(Way::template apply<kFunction>(d, x, mask, kept), d, y);
        std::copy(y, y + (part->count - i), part->y + i);
    }
    if constexpr (kStream) {
        hwy::FlushStream();
    }
}

constexpr std::int64_t kBatch = 512;

// The chosen arguments of a batch go together, are computed in full vectors, and are spread again.
template <Function kFunction>
void batch(const Part* part, std::int64_t begin, std::int64_t end) {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    constexpr std::int64_t kSpare = HWY_MAX_BYTES / sizeof(double);
    HWY_ALIGN double chosen[kBatch + kSpare];
    std::int64_t count = 0;
    std::int64_t i = begin;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    for (; i + lanes <= end; i += lanes) {
        const M on = mask_of(d, part->mask + i);
        // in the register: compressing into memory is slow on some processors
        const __m512d together = _mm512_maskz_compress_pd(on.raw, _mm512_maskz_loadu_pd(on.raw, part->x + i));
        _mm512_storeu_pd(chosen + count, together);
        count += __builtin_popcount(on.raw);
    }
#endif
    for (; i < end; ++i) {
        chosen[count] = part->x[i];
        count += part->mask[i] != 0 ? 1 : 0;
    }
    hn::StoreU(hn::Set(d, kHarmless[kFunction]), d, chosen + count);
    for (std::int64_t k = 0; k < count; k += lanes) {
        hn::Store(value<kFunction>(d, hn::Load(d, chosen + k)), d, chosen + k);
    }
    const double* next = chosen;
    i = begin;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    for (; i + lanes <= end; i += lanes) {
        const M on = mask_of(d, part->mask + i);
        const __m512d kept = _mm512_loadu_pd(part->kept + i);
        _mm512_storeu_pd(part->y + i, _mm512_mask_expand_pd(kept, on.raw, _mm512_loadu_pd(next)));
        next += __builtin_popcount(on.raw);
    }
#endif
    for (; i < end; ++i) {
        const bool on = part->mask[i] != 0;
        part->y[i] = on ? *next : part->kept[i];
        next += on ? 1 : 0;
    }
}

template <Function kFunction>
void in_batches(const Part* part) {
    for (std::int64_t begin = 0; begin < part->count; begin += kBatch) {
        batch<kFunction>(part, begin, std::min(part->count, begin + kBatch));
    }
}

template <Function kFunction, class Way>
void stored(const Part* part) {
    if (part->stream) {
        each_vector<kFunction, Way, true>(part);
    } else {
        each_vector<kFunction, Way, false>(part);
    }
}

using Ways = void (*)(const Part*);

void blend_part(const Part* part) {
    constexpr Ways kWays[kFunctions] = {stored<kExp, Blend>, stored<kLog, Blend>,  stored<kSin, Blend>,
                                        stored<kCos, Blend>, stored<kSqrt, Blend>, stored<kAcosh, Blend>};
    kWays[part->state->function](part);
}

void native_part(const Part* part) {
    constexpr Ways kWays[kFunctions] = {stored<kExp, Native>, stored<kLog, Native>,  stored<kSin, Native>,
                                        stored<kCos, Native>, stored<kSqrt, Native>, stored<kAcosh, Native>};
    kWays[part->state->function](part);
}

void compress_part(const Part* part) {
    constexpr Ways kWays[kFunctions] = {in_batches<kExp>, in_batches<kLog>,  in_batches<kSin>,
                                        in_batches<kCos>, in_batches<kSqrt>, in_batches<kAcosh>};
    kWays[part->state->function](part);
}

void move_part(const Part* part) { stored<kExp, Move>(part); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace maskmath
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace maskmath {
namespace {

HWY_EXPORT(blend_part);
HWY_EXPORT(native_part);
HWY_EXPORT(compress_part);
HWY_EXPORT(move_part);

void blend_chosen(const Part* part) { HWY_DYNAMIC_DISPATCH(blend_part)(part); }
void native_chosen(const Part* part) { HWY_DYNAMIC_DISPATCH(native_part)(part); }
void compress_chosen(const Part* part) { HWY_DYNAMIC_DISPATCH(compress_part)(part); }
void move_chosen(const Part* part) { HWY_DYNAMIC_DISPATCH(move_part)(part); }

}  // namespace

int blend(nw_run* run) { return in_parts(run, blend_chosen, true); }
int native(nw_run* run) { return in_parts(run, native_chosen, true); }
int compress(nw_run* run) { return in_parts(run, compress_chosen, true); }
int move(nw_run* run) { return in_parts(run, move_chosen, false); }

}  // namespace maskmath
#endif
