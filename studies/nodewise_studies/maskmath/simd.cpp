// SPDX-License-Identifier: BSD-3-Clause
// Vectors by Highway: blending around a full call, native masks, calls for the chosen elements alone, and of these what
// is cheapest for each batch.
#include <cstdint>
#include <type_traits>

#include "simd/targets.h"
#include "study.h"
#include "trials.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include "hwy/highway.h"
#include "trials-inl.h"
#include "ways-inl.h"

HWY_BEFORE_NAMESPACE();
namespace maskmath {
namespace HWY_NAMESPACE {
namespace {

template <int kKernel, class Variant, bool kStream>
void all_of(const Part* part) {
    std::int64_t i = 0;
    if constexpr (std::is_same_v<Variant, Compress> || std::is_same_v<Variant, Best>) {
        for (; i + kBatch <= part->count; i += kBatch) {
            Variant::template batch<kKernel, kStream>(part, i);
        }
        groups<kKernel, Native, kStream>(part, i, part->count);
    } else {
        groups<kKernel, Variant, kStream>(part, i, part->count);
    }
    if constexpr (kStream) {
        hwy::FlushStream();
    }
}

template <int kKernel, class Variant>
void stored(const Part* part) {
    if (part->stream) {
        all_of<kKernel, Variant, true>(part);
    } else {
        all_of<kKernel, Variant, false>(part);
    }
}

using Run = void (*)(const Part*);

template <class Variant>
void each(const Part* part) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    constexpr Run kTable[kKernels] = {
        stored<kExp, Variant>,         stored<kLog, Variant>,       stored<kSin, Variant>,
        stored<kCos, Variant>,         stored<kSqrt, Variant>,      stored<kAcosh, Variant>,
        stored<kLogQuick, Variant>,    stored<kSinQuick, Variant>,  stored<kCosQuick, Variant>,
        stored<kSqrtBySteps, Variant>, stored<kAcoshQuick, Variant>};
    kTable[part->state->kernel](part);
#else
    // quicker ones are there with AVX-512 alone
    constexpr Run kTable[kFunctions] = {stored<kExp, Variant>, stored<kLog, Variant>,  stored<kSin, Variant>,
                                        stored<kCos, Variant>, stored<kSqrt, Variant>, stored<kAcosh, Variant>};
    kTable[part->state->function](part);
#endif
}

void times_of_ways(const Trial& trial, Times* times) {
    using Tried = void (*)(const Trial&, Times*);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    constexpr Tried kTable[kKernels] = {times_of<kExp>,         times_of<kLog>,       times_of<kSin>,
                                        times_of<kCos>,         times_of<kSqrt>,      times_of<kAcosh>,
                                        times_of<kLogQuick>,    times_of<kSinQuick>,  times_of<kCosQuick>,
                                        times_of<kSqrtBySteps>, times_of<kAcoshQuick>};
    kTable[trial.state->kernel](trial, times);
#else
    constexpr Tried kTable[kFunctions] = {times_of<kExp>, times_of<kLog>,  times_of<kSin>,
                                          times_of<kCos>, times_of<kSqrt>, times_of<kAcosh>};
    kTable[trial.state->function](trial, times);
#endif
}

void blend_part(const Part* part) { each<Blend>(part); }
void native_part(const Part* part) { each<Native>(part); }
void compress_part(const Part* part) { each<Compress>(part); }
void best_part(const Part* part) { each<Best>(part); }
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
HWY_EXPORT(best_part);
HWY_EXPORT(move_part);
HWY_EXPORT(root_times);
HWY_EXPORT(times_of_ways);

void blend_chosen(const Part* part) { HWY_DYNAMIC_DISPATCH(blend_part)(part); }
void native_chosen(const Part* part) { HWY_DYNAMIC_DISPATCH(native_part)(part); }
void compress_chosen(const Part* part) { HWY_DYNAMIC_DISPATCH(compress_part)(part); }
void best_chosen(const Part* part) { HWY_DYNAMIC_DISPATCH(best_part)(part); }
void move_chosen(const Part* part) { HWY_DYNAMIC_DISPATCH(move_part)(part); }

}  // namespace

void way_times(const Trial& trial, Times* times) { HWY_DYNAMIC_DISPATCH(times_of_ways)(trial, times); }

int choose_root(nw_run* run) {
    State& state = *static_cast<State*>(run->own);
    if (state.function == kSqrt) {
        HWY_DYNAMIC_DISPATCH(root_times)(&state);
        state.kernel = state.root_steps_s < state.root_own_s ? int{kSqrtBySteps} : int{kSqrt};
    }
    return 0;
}

int blend(nw_run* run) { return in_parts(run, blend_chosen, true); }
int native(nw_run* run) { return in_parts(run, native_chosen, true); }
int compress(nw_run* run) { return in_parts(run, compress_chosen, true); }
int best(nw_run* run) { return in_parts(run, best_chosen, true); }
int move(nw_run* run) { return in_parts(run, move_chosen, false); }

}  // namespace maskmath
#endif
