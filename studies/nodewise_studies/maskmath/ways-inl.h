// SPDX-License-Identifier: BSD-3-Clause
// Ways to do a batch of elements by vectors: computing all, the chosen ones together, or one by one by their places.
// Included once per instruction set.
#if defined(MASKMATH_WAYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MASKMATH_WAYS_INL_H_
#undef MASKMATH_WAYS_INL_H_
#else
#define MASKMATH_WAYS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "simd_math/acosh-inl.h"
#include "simd_math/exp-inl.h"
#include "simd_math/log-inl.h"
#include "simd_math/sincos-inl.h"
#include "simd_math/sqrt-inl.h"
#include "study.h"

HWY_BEFORE_NAMESPACE();
namespace maskmath {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
namespace sm = simd_math::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;

template <int kKernel>
HWY_INLINE V value(D d, V x) {
    if constexpr (kKernel == kExp) {
        return sm::exp_lanes(d, x);
    } else if constexpr (kKernel == kLog) {
        return sm::log_lanes(d, x);
    } else if constexpr (kKernel == kLogQuick) {
        return sm::log_lanes_quick(d, x);
    } else if constexpr (kKernel == kSin) {
        return sm::sin_lanes(d, x);
    } else if constexpr (kKernel == kSinQuick) {
        return sm::sin_lanes_quick(d, x);
    } else if constexpr (kKernel == kCos) {
        return sm::cos_lanes(d, x);
    } else if constexpr (kKernel == kCosQuick) {
        return sm::cos_lanes_quick(d, x);
    } else if constexpr (kKernel == kSqrtBySteps) {
        return sm::sqrt_lanes_by_steps(d, x);
    } else {
        static_assert(kKernel == kSqrt);
        return hn::Sqrt(x);
    }
}

// The function of `count` aligned arguments, which are whole vectors, in place.
template <int kKernel>
HWY_INLINE void values(D d, double* at, std::int64_t count) {
    if constexpr (kFunctionOf[kKernel] == kAcosh) {
        sm::acosh_in_place<kKernel == kAcosh>(d, at, static_cast<std::size_t>(count));
    } else {
        const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
        for (std::int64_t k = 0; k < count; k += lanes) {
            hn::Store(value<kKernel>(d, hn::Load(d, at + k)), d, at + k);
        }
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

// The arguments of one vector's worth, `mask` and `x` as they lie in memory: masked-off lanes are harmless.
struct Blend {
    static constexpr bool kSkips = false;
    static HWY_INLINE V arguments(D d, M on, const double* x, double harmless) {
        return hn::IfThenElse(on, hn::LoadU(d, x), hn::Set(d, harmless));
    }
};

struct Native {
    // masked-off lanes are not even loaded
    static constexpr bool kSkips = true;
    static HWY_INLINE V arguments(D d, M on, const double* x, double harmless) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
        return V{_mm512_mask_loadu_pd(hn::Set(d, harmless).raw, on.raw, x)};
#else
        return Blend::arguments(d, on, x, harmless);
#endif
    }
};

// no function at all
struct Move {
    static constexpr bool kSkips = false;
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

template <bool kStream>
HWY_INLINE void copy_group(D d, const double* from, double* to) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t k = 0; k < kGroup; k += lanes) {
        put<kStream>(d, hn::LoadU(d, from + k), to + k);
    }
}

// A group's worth.
template <int kKernel, class Variant, bool kStream>
HWY_INLINE void group(D d, const double* x, const std::uint8_t* mask, const double* kept, double* y) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    if (Variant::kSkips && none_of(mask)) {
        copy_group<kStream>(d, kept, y);
    } else if constexpr (std::is_same_v<Variant, Move>) {
        for (std::int64_t k = 0; k < kGroup; k += lanes) {
            put<kStream>(d, hn::IfThenElse(mask_of(d, mask + k), hn::LoadU(d, x + k), hn::LoadU(d, kept + k)), y + k);
        }
    } else if constexpr (kFunctionOf[kKernel] == kAcosh) {
        HWY_ALIGN double at[kGroup];
        for (std::int64_t k = 0; k < kGroup; k += lanes) {
            hn::Store(Variant::arguments(d, mask_of(d, mask + k), x + k, kHarmless[kFunctionOf[kKernel]]), d, at + k);
        }
        values<kKernel>(d, at, kGroup);
        for (std::int64_t k = 0; k < kGroup; k += lanes) {
            put<kStream>(d, hn::IfThenElse(mask_of(d, mask + k), hn::Load(d, at + k), hn::LoadU(d, kept + k)), y + k);
        }
    } else {
        for (std::int64_t k = 0; k < kGroup; k += lanes) {
            const M on = mask_of(d, mask + k);
            const V computed = value<kKernel>(d, Variant::arguments(d, on, x + k, kHarmless[kFunctionOf[kKernel]]));
            put<kStream>(d, hn::IfThenElse(on, computed, hn::LoadU(d, kept + k)), y + k);
        }
    }
}

// The elements from `begin` on, by groups; of the last group what is not there is masked off.
template <int kKernel, class Variant, bool kStream>
void groups(const Part* part, std::int64_t begin, std::int64_t end) {
    const D d;
    std::int64_t i = begin;
    for (; i + kGroup <= end; i += kGroup) {
        group<kKernel, Variant, kStream>(d, part->x + i, part->mask + i, part->kept + i, part->y + i);
    }
    if (i < end) {
        HWY_ALIGN double x[kGroup] = {};
        HWY_ALIGN double kept[kGroup] = {};
        HWY_ALIGN double y[kGroup];
        std::uint8_t mask[kGroup] = {};
        std::copy(part->x + i, part->x + end, x);
        std::copy(part->kept + i, part->kept + end, kept);
        std::copy(part->mask + i, part->mask + end, mask);
        group<kKernel, Variant, false>(d, x, mask, kept, y);
        std::copy(y, y + (end - i), part->y + i);
    }
}

// The mask of a group, the first element in the lowest bit.
HWY_INLINE std::uint64_t bits_of(const std::uint8_t* mask) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    const __m512i bytes = _mm512_loadu_si512(mask);
    return _mm512_test_epi8_mask(bytes, bytes);
#elif HWY_TARGET == HWY_SCALAR
    std::uint64_t bits = 0;
    for (int k = 0; k < kGroup; ++k) {
        bits |= std::uint64_t{mask[k] != 0} << k;
    }
    return bits;
#else
    const hn::CappedTag<std::uint8_t, kGroup> d8;
    std::uint8_t bytes[kGroup / 8] = {};
    for (std::size_t k = 0; k < kGroup; k += hn::Lanes(d8)) {
        hn::StoreMaskBits(d8, hn::Ne(hn::LoadU(d8, mask + k), hn::Zero(d8)), bytes + k / 8);
    }
    std::uint64_t bits = 0;
    for (int k = 0; k < kGroup / 8; ++k) {
        bits |= std::uint64_t{bytes[k]} << (8 * k);
    }
    return bits;
#endif
}

// Elements whose chosen ones go together: they fit the nearest cache, and most of the last vector is used.
constexpr std::int64_t kBatch = 512;
constexpr std::int64_t kGroups = kBatch / kGroup;

// The masks of a batch's groups, how many of its elements are chosen, and how many groups have any.
struct Chosen {
    std::uint64_t bits[kGroups];
    std::int64_t count;
    std::int64_t groups;
};

HWY_INLINE Chosen look(const std::uint8_t* mask) {
    Chosen chosen{{}, 0, 0};
    for (std::int64_t g = 0; g < kGroups; ++g) {
        const std::uint64_t bits = bits_of(mask + g * kGroup);
        chosen.bits[g] = bits;
        chosen.count += std::popcount(bits);
        chosen.groups += bits != 0 ? 1 : 0;
    }
    return chosen;
}

// The function of the first `count` of `at`; the rest of the last vector is filled up.
template <int kKernel>
HWY_INLINE void together(D d, double* at, std::int64_t count) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    hn::StoreU(hn::Set(d, kHarmless[kFunctionOf[kKernel]]), d, at + count);
    values<kKernel>(d, at, (count + lanes - 1) / lanes * lanes);
}

// A batch of which few are chosen, one by one by their places.
template <int kKernel, bool kStream>
void by_places(const Chosen& chosen, const double* x, const double* kept, double* y) {
    const D d;
    constexpr std::int64_t kSpare = HWY_MAX_BYTES / sizeof(double);
    HWY_ALIGN double at[kBatch + kSpare];
    std::uint16_t places[kBatch];
    std::int64_t count = 0;
    for (std::int64_t g = 0; g < kGroups; ++g) {
        for (std::uint64_t bits = chosen.bits[g]; bits != 0; bits &= bits - 1) {
            const std::int64_t place = g * kGroup + std::countr_zero(bits);
            places[count] = static_cast<std::uint16_t>(place);
            at[count++] = x[place];
        }
    }
    together<kKernel>(d, at, count);
    // what is written past the caches is put together before
    HWY_ALIGN double whole[kStream ? kBatch : 1];
    double* to = kStream ? whole : y;
    for (std::int64_t i = 0; i < kBatch; i += kGroup) {
        copy_group<false>(d, kept + i, to + i);
    }
    for (std::int64_t k = 0; k < count; ++k) {
        to[places[k]] = at[k];
    }
    if constexpr (kStream) {
        for (std::int64_t i = 0; i < kBatch; i += kGroup) {
            copy_group<true>(d, whole + i, y + i);
        }
    }
}

// A batch whose chosen arguments go together, are computed in full vectors, and are spread again.
template <int kKernel, bool kStream>
void compressed(const std::uint8_t* mask, const double* x, const double* kept, double* y) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    const D d;
    constexpr std::int64_t kLanes = 8;
    HWY_ALIGN double at[kBatch + kLanes];
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < kBatch; i += kLanes) {
        const M on = mask_of(d, mask + i);
        // in the register: compressing into memory is slow on some processors
        _mm512_storeu_pd(at + count, _mm512_maskz_compress_pd(on.raw, _mm512_maskz_loadu_pd(on.raw, x + i)));
        count += std::popcount(on.raw);
    }
    together<kKernel>(d, at, count);
    const double* next = at;
    for (std::int64_t i = 0; i < kBatch; i += kLanes) {
        const M on = mask_of(d, mask + i);
        put<kStream>(d, V{_mm512_mask_expand_pd(_mm512_loadu_pd(kept + i), on.raw, _mm512_loadu_pd(next))}, y + i);
        next += std::popcount(on.raw);
    }
#else
    by_places<kKernel, kStream>(look(mask), x, kept, y);
#endif
}

struct Compress {
    template <int kKernel, bool kStream>
    static HWY_INLINE void batch(const Part* part, std::int64_t i) {
        compressed<kKernel, kStream>(part->mask + i, part->x + i, part->kept + i, part->y + i);
    }
};

// Of 100 elements in groups that are not skipped, up to so many chosen ones it is cheaper to go together than to
// compute all, and one by one than together: as `choose` has measured it.
struct Best {
    template <int kKernel, bool kStream>
    static HWY_INLINE void batch(const Part* part, std::int64_t i) {
        const Chosen chosen = look(part->mask + i);
        const double percent = 100.0 * static_cast<double>(chosen.count);
        const auto computed = static_cast<double>(kGroup * chosen.groups);
        if (percent > part->state->most_together * computed) {
            groups<kKernel, Native, kStream>(part, i, i + kBatch);
        } else if (percent > part->state->most_places * computed) {
            compressed<kKernel, kStream>(part->mask + i, part->x + i, part->kept + i, part->y + i);
        } else {
            by_places<kKernel, kStream>(chosen, part->x + i, part->kept + i, part->y + i);
        }
    }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace maskmath
HWY_AFTER_NAMESPACE();
#endif
