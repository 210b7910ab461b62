// SPDX-License-Identifier: BSD-3-Clause
// Judges the first components where the others are not there: each is one, since the matrix multiplies it by its value;
// they are the first, since Lanczos's steps beside them find nothing larger; and the variance is the matrix's trace.
#include <algorithm>
#include <cmath>
#include <vector>

#include "check.h"
#include "pca.h"
#include "solve.h"

namespace pca {
namespace {

// So many find an eigenvalue that is larger by a twentieth from whatever vector they begin with, mostly much smaller
// differences (Kuczynski and Wozniakowski 1992).
constexpr std::size_t kSteps = 24;
constexpr double kNothing = 1e-13;
constexpr double kTrace = 1e-11;

double dot(const double* a, const double* b, std::size_t size) {
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

void take_out(const std::vector<double>& others, std::size_t size, std::vector<double>& vector) {
    for (int again = 0; again < 2; ++again) {
        for (std::size_t at = 0; at < others.size(); at += size) {
            const double share = dot(others.data() + at, vector.data(), size);
            for (std::size_t j = 0; j < size; ++j) {
                vector[j] -= share * others[at + j];
            }
        }
    }
}

// The largest eigenvalue that is found at right angles to the axes; never more than there is.
double largest_beside(nw_run* run, const std::vector<double>& axes) {
    const std::size_t d = state(run).columns;
    const std::size_t steps = std::min(kSteps, d - axes.size() / d);
    std::vector<double> known(axes);
    std::vector<double> vector(d);
    for (std::size_t j = 0; j < d; ++j) {
        vector[j] = nw_uniform(nw_random(run->seed + 99, j)) - 0.5;
    }
    std::vector<double> diagonal;
    std::vector<double> beside;
    take_out(known, d, vector);
    double length = std::sqrt(dot(vector.data(), vector.data(), d));
    while (diagonal.size() < steps && length > kNothing) {
        std::transform(vector.begin(), vector.end(), vector.begin(), [&](double x) { return x / length; });
        known.insert(known.end(), vector.begin(), vector.end());
        std::vector<double> image = times_matrix(run, vector);
        diagonal.push_back(dot(vector.data(), image.data(), d));
        take_out(known, d, image);
        vector = std::move(image);
        length = std::sqrt(dot(vector.data(), vector.data(), d));
        beside.push_back(length);
    }
    const std::size_t size = diagonal.size();
    std::vector<double> matrix(size * size, 0.0);
    for (std::size_t i = 0; i < size; ++i) {
        matrix[i * size + i] = diagonal[i];
        if (i + 1 < size) {
            matrix[i * size + i + 1] = beside[i];
            matrix[(i + 1) * size + i] = beside[i];
        }
    }
    std::vector<double> values(std::max<std::size_t>(size, 1), 0.0);
    std::vector<double> ignored(size * size);
    if (size > 0) {
        eigen_jacobi(size, matrix.data(), values.data(), ignored.data());
    }
    return *std::max_element(values.begin(), values.end());
}

}  // namespace

int check_leading(nw_run* run, const double* values, const double* vectors) {
    const State& own = state(run);
    const std::size_t d = own.columns;
    const double allowed = own.accuracy * values[0];
    const double variance = *static_cast<const double*>(nw_data(run, "variance"));
    if (!(std::fabs(variance - own.expected.back()) <= kTrace * own.expected.back())) {
        return nw_fail(run, "the variance is %.17g, by plain sums %.17g", variance, own.expected.back());
    }
    const std::vector<double> axes(vectors, vectors + own.kept * d);
    const std::vector<double> images = times_matrix(run, axes);
    for (std::size_t k = 0; k < own.kept; ++k) {
        double sum = 0;
        for (std::size_t j = 0; j < d; ++j) {
            const double off = images[k * d + j] - values[k] * axes[k * d + j];
            sum += off * off;
        }
        if (!(std::sqrt(sum) <= allowed)) {
            return nw_fail(run, "component %zu is none to %.1g of the largest eigenvalue: the matrix makes %.3g of it",
                           k + 1, own.accuracy, std::sqrt(sum) / values[0]);
        }
    }
    const double beside = largest_beside(run, axes);
    if (!(beside <= values[own.kept - 1] + allowed)) {
        return nw_fail(run, "there is an eigenvalue of %.17g, larger than the last of the first %zu, %.17g", beside,
                       own.kept, values[own.kept - 1]);
    }
    return 0;
}

}  // namespace pca
