// SPDX-License-Identifier: BSD-3-Clause
// The libraries, through CBLAS. Their whole numbers are of 32 or of 64 bits, as each was built.
#include <dlfcn.h>

#include <cstdint>

#include "gemm.h"
#include "study.h"

namespace dgemm {
namespace {

constexpr int kColumnMajor = 102;
constexpr int kNotTransposed = 111;
constexpr int kTransposed = 112;

template <typename Int>
using Gemm = void (*)(int order, int transa, int transb, Int m, Int n, Int k, double alpha, const double* a, Int lda,
                      const double* b, Int ldb, double beta, double* c, Int ldc);

// The first of these functions that the library has; null where it has none.
template <typename Function, int N>
Function find(const nw_run* run, const char* const (&names)[N]) {
    for (const char* name : names) {
        if (void* found = dlsym(run->library, name)) {
            return reinterpret_cast<Function>(found);
        }
    }
    return nullptr;
}

template <typename Int>
int multiply(nw_run* run, Gemm<Int> gemm) {
    if (gemm == nullptr) {
        return nw_fail(run, "the library has no cblas_dgemm");
    }
    const Problem p = problem(run);
    gemm(kColumnMajor, p.transposed_a ? kTransposed : kNotTransposed, p.transposed_b ? kTransposed : kNotTransposed,
         static_cast<Int>(p.m), static_cast<Int>(p.n), static_cast<Int>(p.k), p.alpha, p.a, static_cast<Int>(p.lda),
         p.b, static_cast<Int>(p.ldb), p.beta, p.c, static_cast<Int>(p.ldc));
    return 0;
}

template <typename Int, int N>
int set_threads(nw_run* run, const char* const (&names)[N]) {
    const auto set = find<void (*)(Int)>(run, names);
    if (set == nullptr) {
        return nw_fail(run, "the library has no %s", names[0]);
    }
    set(static_cast<Int>(run->threads));
    return 0;
}

}  // namespace

int prepare_openblas64(nw_run* run) {
    return set_threads<int>(run, {"scipy_openblas_set_num_threads64_", "openblas_set_num_threads64_"});
}

int openblas64(nw_run* run) {
    return multiply(run, find<Gemm<std::int64_t>>(run, {"scipy_cblas_dgemm64_", "cblas_dgemm64_"}));
}

int prepare_openblas(nw_run* run) {
    return set_threads<int>(run, {"openblas_set_num_threads", "scipy_openblas_set_num_threads"});
}

int openblas(nw_run* run) { return multiply(run, find<Gemm<int>>(run, {"cblas_dgemm", "scipy_cblas_dgemm"})); }

int prepare_blis(nw_run* run) { return set_threads<std::int64_t>(run, {"bli_thread_set_num_threads"}); }

int blis(nw_run* run) { return multiply(run, find<Gemm<int>>(run, {"cblas_dgemm"})); }

int prepare_mkl(nw_run* run) { return set_threads<int>(run, {"MKL_Set_Num_Threads"}); }

int mkl(nw_run* run) { return multiply(run, find<Gemm<int>>(run, {"cblas_dgemm"})); }

}  // namespace dgemm
