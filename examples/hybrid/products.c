// SPDX-License-Identifier: BSD-3-Clause
// c[i] = log(a[i]) * log(b[i]) over threads, for hybrid.py: cc -O3 -march=native -fopenmp -shared -fPIC products.c -o libproducts.so -lm

#include <math.h>
#include <omp.h>

// The first touch is that of the thread which uses it: pages lie on its NUMA node.
void fill(double* a, double* b, double* c, long n, double low, double width, unsigned seed) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; ++i) {
        // Weyl sequences: as many different numbers as there are elements, whatever the number of threads
        const double one = fmod((double)(i + 1) * 0.6180339887498949 + seed * 0.17, 1.0);
        const double other = fmod((double)(i + 1) * 0.4142135623730951 + seed * 0.31, 1.0);
        a[i] = low + width * one;
        b[i] = low + width * other;
        c[i] = 0.0;
    }
}

void products(const double* a, const double* b, double* c, long n) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; ++i) {
        c[i] = log(a[i]) * log(b[i]);
    }
}

int threads(void) {
    return omp_get_max_threads();
}
