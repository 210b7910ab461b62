// SPDX-License-Identifier: BSD-3-Clause
// One row of the product, in the two orders of the triple loop.
#include <algorithm>
#include <cstring>

#include "study.h"

namespace schedule {
namespace {

// The triple loop as it is first written: one element of C after the other, down a column of B.
void by_elements(const Product& product, std::int64_t i) {
    const double* a = product.a + i * product.n;
    for (std::int64_t j = 0; j < product.n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < product.lengths[i]; ++k) {
            sum += a[k] * product.b[k * product.n + j];
        }
        product.c[i * product.n + j] = sum;
    }
}

// The two inner loops exchanged: along the rows of B and C, which a compiler vectorises.
void by_rows(const Product& product, std::int64_t i) {
    const double* a = product.a + i * product.n;
    double* c = product.c + i * product.n;
    std::fill_n(c, product.n, 0.0);
    for (std::int64_t k = 0; k < product.lengths[i]; ++k) {
        const double factor = a[k];
        const double* b = product.b + k * product.n;
        for (std::int64_t j = 0; j < product.n; ++j) {
            c[j] += factor * b[j];
        }
    }
}

}  // namespace

RowLoop row_loop(const nw_run* run) {
    const char* order = nw_text(run, "order");
    return order != nullptr && std::strcmp(order, "ikj") == 0 ? by_rows : by_elements;
}

}  // namespace schedule
