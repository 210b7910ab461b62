// SPDX-License-Identifier: BSD-3-Clause
// Peers that offer the logarithm of eight doubles as a function of a vector register: Intel's SVML and SLEEF.
#include <dlfcn.h>
#include <immintrin.h>

#include "study.h"

namespace veclog {
namespace {

typedef __m512d (*vector_function)(__m512d) noexcept;

int find(nw_run* run, const char* name) {
    run->own = dlsym(run->library, name);
    return run->own != nullptr ? 0 : nw_fail(run, "the library has no function %s", name);
}

}  // namespace

int svml_prepare(nw_run* run) { return find(run, "__svml_log8"); }
int svml_ha_prepare(nw_run* run) { return find(run, "__svml_log8_ha"); }
int sleef_u10_prepare(nw_run* run) { return find(run, "Sleef_logd8_u10"); }
int sleef_u35_prepare(nw_run* run) { return find(run, "Sleef_logd8_u35"); }

int by_vector_function(nw_run* run) {
    const int64_t n = size(run);
    const double* a = left(run);
    const double* b = right(run);
    double* c = product(run);
    const vector_function log8 = (vector_function)run->own;
    const int64_t whole = n / 8;
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (int64_t v = 0; v < whole; ++v) {
        const __m512d log_a = log8(_mm512_loadu_pd(a + 8 * v));
        _mm512_storeu_pd(c + 8 * v, _mm512_mul_pd(log_a, log8(_mm512_loadu_pd(b + 8 * v))));
    }
    const __mmask8 tail = (__mmask8)((1U << (unsigned)(n % 8)) - 1);
    if (tail != 0) {
        const __m512d one = _mm512_set1_pd(1.0);
        const __m512d log_a = log8(_mm512_mask_loadu_pd(one, tail, a + 8 * whole));
        const __m512d log_b = log8(_mm512_mask_loadu_pd(one, tail, b + 8 * whole));
        _mm512_mask_storeu_pd(c + 8 * whole, tail, _mm512_mul_pd(log_a, log_b));
    }
    return 0;
}

}  // namespace veclog
