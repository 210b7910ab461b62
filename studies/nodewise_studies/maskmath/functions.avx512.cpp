// SPDX-License-Identifier: BSD-3-Clause
// Peers that offer functions of eight doubles in a vector register: Intel's SVML, SLEEF and glibc's libmvec. A user
// patches masked-off lanes, calls, blends, and leaves out what is masked off altogether.
#include <dlfcn.h>
#include <immintrin.h>
#include <stdio.h>

#include "study.h"

namespace maskmath {
namespace {

typedef __m512d (*vector_function)(__m512d) noexcept;

const char* const kNames[kFunctions] = {"exp", "log", "sin", "cos", "sqrt", "acosh"};

// The function whose name `form` gives.
int find(nw_run* run, void* library, const char* form) {
    State* state = (State*)run->own;
    char name[64];
    snprintf(name, sizeof name, form, kNames[state->function]);
    state->of_eight = library != nullptr ? dlsym(library, name) : nullptr;
    return state->of_eight != nullptr ? 0 : nw_fail(run, "the library has no function %s", name);
}

void by_eight(const Part* part) {
    const vector_function f = (vector_function)part->state->of_eight;
    const __m512d harmless = _mm512_set1_pd(kHarmless[part->state->function]);
    for (int64_t i = 0; i < part->count; i += 8) {
        const int64_t left = part->count - i;
        const __mmask8 there = left >= 8 ? (__mmask8)0xff : (__mmask8)((1U << (unsigned)left) - 1);
        const __m128i bytes = _mm_maskz_loadu_epi8(there, part->mask + i);
        const __mmask8 on = (__mmask8)_mm_test_epi8_mask(bytes, bytes);
        __m512d y = _mm512_maskz_loadu_pd(there, part->kept + i);
        if (on != 0) {
            y = _mm512_mask_mov_pd(y, on, f(_mm512_mask_loadu_pd(harmless, on, part->x + i)));
        }
        _mm512_mask_storeu_pd(part->y + i, there, y);
    }
}

}  // namespace

int libmvec_prepare(nw_run* run) {
    // part of the system, so opened here; never closed
    return find(run, dlopen("libmvec.so.1", RTLD_NOW), "_ZGVeN8v_%s");
}

int svml_prepare(nw_run* run) { return find(run, run->library, "__svml_%s8"); }
int svml_ha_prepare(nw_run* run) { return find(run, run->library, "__svml_%s8_ha"); }

int sleef_u10_prepare(nw_run* run) {
    // its exact square root is named for half an ulp
    const bool root = ((const State*)run->own)->function == kSqrt;
    return find(run, run->library, root ? "Sleef_%sd8_u05" : "Sleef_%sd8_u10");
}

int sleef_u35_prepare(nw_run* run) { return find(run, run->library, "Sleef_%sd8_u35"); }

int by_vector_function(nw_run* run) { return in_parts(run, by_eight, false); }

}  // namespace maskmath
