// SPDX-License-Identifier: BSD-3-Clause
#include "solve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace pca {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMostSweeps = 60;
// magnitudes that agree so far count as equal: rounding must not choose a sign
constexpr double kSameMagnitude = 1e-8;

void make_identity(std::size_t size, double* matrix) {
    std::fill_n(matrix, size * size, 0.0);
    for (std::size_t i = 0; i < size; ++i) {
        matrix[i * size + i] = 1.0;
    }
}

double dot(const double* a, const double* b, std::size_t size) {
    double part[8] = {};
    std::size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        for (std::size_t k = 0; k < 8; ++k) {
            part[k] += a[i + k] * b[i + k];
        }
    }
    for (; i < size; ++i) {
        part[0] += a[i] * b[i];
    }
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

// a = c·a - s·b, b = s·a + c·b
void rotate(double* __restrict a, double* __restrict b, std::size_t size, double c, double s) {
    for (std::size_t i = 0; i < size; ++i) {
        const double first = a[i];
        const double second = b[i];
        a[i] = c * first - s * second;
        b[i] = s * first + c * second;
    }
}

struct Rotation {
    double c;
    double s;
    double t;
};

// Makes [[app, apq], [apq, aqq]] diagonal, by the smaller of the two angles.
Rotation rotation_of(double app, double apq, double aqq) {
    const double zeta = (aqq - app) / (2.0 * apq);
    const double t = std::copysign(1.0, zeta) / (std::fabs(zeta) + std::sqrt(1.0 + zeta * zeta));
    const double c = 1.0 / std::sqrt(1.0 + t * t);
    return {c, c * t, t};
}

void rotate_symmetric(std::size_t size, double* a, std::size_t p, std::size_t q, const Rotation& by) {
    const double app = a[p * size + p];
    const double aqq = a[q * size + q];
    const double apq = a[p * size + q];
    rotate(a + p * size, a + q * size, size, by.c, by.s);
    for (std::size_t k = 0; k < size; ++k) {
        a[k * size + p] = a[p * size + k];
        a[k * size + q] = a[q * size + k];
    }
    a[p * size + p] = app - by.t * apq;
    a[q * size + q] = aqq + by.t * apq;
    a[p * size + q] = 0.0;
    a[q * size + p] = 0.0;
}

// Householder's reflections that make a symmetric matrix tridiagonal, kept as rows of `mirrors`.
void reduce(std::size_t size, double* a, double* mirrors, double* diagonal, double* subdiagonal) {
    std::vector<double> product(size);
    for (std::size_t k = 0; k + 1 < size; ++k) {
        diagonal[k] = a[k * size + k];
        double* v = mirrors + k * size;
        std::copy_n(a + k * size + k + 1, size - k - 1, v + k + 1);
        const double norm = std::sqrt(dot(v + k + 1, v + k + 1, size - k - 1));
        subdiagonal[k] = v[k + 1] > 0 ? -norm : norm;
        v[k + 1] -= subdiagonal[k];
        const double square = dot(v + k + 1, v + k + 1, size - k - 1);
        if (k + 2 == size || square == 0.0) {
            // nothing but the first component: no reflection, and the element keeps its sign
            subdiagonal[k] = a[k * size + k + 1];
            std::fill_n(v + k + 1, size - k - 1, 0.0);
            continue;
        }
        const double scale = std::sqrt(2.0 / square);
        for (std::size_t i = k + 1; i < size; ++i) {
            v[i] *= scale;
        }
        for (std::size_t i = k + 1; i < size; ++i) {
            product[i] = dot(a + i * size + k + 1, v + k + 1, size - k - 1);
        }
        const double half = 0.5 * dot(v + k + 1, product.data() + k + 1, size - k - 1);
        for (std::size_t i = k + 1; i < size; ++i) {
            product[i] -= half * v[i];
        }
        for (std::size_t i = k + 1; i < size; ++i) {
            double* row = a + i * size;
            const double vi = v[i];
            const double wi = product[i];
            for (std::size_t j = k + 1; j < size; ++j) {
                row[j] -= vi * product[j] + wi * v[j];
            }
        }
    }
    diagonal[size - 1] = a[size * size - 1];
    subdiagonal[size - 1] = 0.0;
}

// One sweep of implicit QL over [l, m], which splits off at m.
void ql_sweep(std::size_t size, std::size_t l, std::size_t m, double* d, double* e, double* axes) {
    double g = (d[l + 1] - d[l]) / (2.0 * e[l]);
    double r = std::sqrt(g * g + 1.0);
    g = d[m] - d[l] + e[l] / (g + std::copysign(r, g));
    double s = 1.0;
    double c = 1.0;
    double p = 0.0;
    for (std::size_t i = m; i-- > l;) {
        const double f = s * e[i];
        const double b = c * e[i];
        r = std::sqrt(f * f + g * g);
        e[i + 1] = r;
        if (r == 0.0) {
            d[i + 1] -= p;
            e[m] = 0.0;
            return;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2.0 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        rotate(axes + i * size, axes + (i + 1) * size, size, c, s);
    }
    d[l] -= p;
    e[l] = g;
    e[m] = 0.0;
}

}  // namespace

void eigen_jacobi(std::size_t size, double* matrix, double* values, double* vectors) {
    make_identity(size, vectors);
    bool turned = true;
    for (int sweep = 0; sweep < kMostSweeps && turned; ++sweep) {
        turned = false;
        for (std::size_t p = 0; p + 1 < size; ++p) {
            for (std::size_t q = p + 1; q < size; ++q) {
                const double apq = matrix[p * size + q];
                const double app = matrix[p * size + p];
                const double aqq = matrix[q * size + q];
                const double least = kEpsilon * std::sqrt(std::fabs(app)) * std::sqrt(std::fabs(aqq));
                if (std::fabs(apq) <= std::max(least, std::numeric_limits<double>::min())) {
                    continue;
                }
                turned = true;
                const Rotation by = rotation_of(app, apq, aqq);
                rotate_symmetric(size, matrix, p, q, by);
                rotate(vectors + p * size, vectors + q * size, size, by.c, by.s);
            }
        }
    }
    for (std::size_t i = 0; i < size; ++i) {
        values[i] = matrix[i * size + i];
    }
}

void eigen_tridiagonal(std::size_t size, double* matrix, double* values, double* vectors) {
    make_identity(size, vectors);
    double largest = 0.0;
    for (std::size_t i = 0; i < size * size; ++i) {
        largest = std::max(largest, std::fabs(matrix[i]));
    }
    if (largest == 0.0) {
        std::fill_n(values, size, 0.0);
        return;
    }
    for (std::size_t i = 0; i < size * size; ++i) {
        matrix[i] /= largest;
    }
    std::vector<double> mirrors(size * size, 0.0);
    std::vector<double> subdiagonal(size);
    reduce(size, matrix, mirrors.data(), values, subdiagonal.data());
    // the reflections' product, the last one first: its rows become the axes
    for (std::size_t k = size - 1; k-- > 0;) {
        const double* v = mirrors.data() + k * size;
        for (std::size_t i = k + 1; i < size; ++i) {
            double* row = vectors + i * size;
            const double share = dot(row + k + 1, v + k + 1, size - k - 1);
            for (std::size_t j = k + 1; j < size; ++j) {
                row[j] -= share * v[j];
            }
        }
    }
    for (std::size_t l = 0; l < size; ++l) {
        for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
            std::size_t m = l;
            while (m + 1 < size &&
                   std::fabs(subdiagonal[m]) > kEpsilon * (std::fabs(values[m]) + std::fabs(values[m + 1]))) {
                ++m;
            }
            if (m == l) {
                break;
            }
            ql_sweep(size, l, m, values, subdiagonal.data(), vectors);
        }
    }
    for (std::size_t i = 0; i < size; ++i) {
        values[i] *= largest;
    }
}

void singular_jacobi(std::size_t size, double* matrix, double* values, double* vectors) {
    make_identity(size, vectors);
    for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            std::swap(matrix[i * size + j], matrix[j * size + i]);
        }
    }
    const double least = kEpsilon * std::sqrt(static_cast<double>(size));
    bool turned = true;
    for (int sweep = 0; sweep < kMostSweeps && turned; ++sweep) {
        turned = false;
        for (std::size_t p = 0; p + 1 < size; ++p) {
            for (std::size_t q = p + 1; q < size; ++q) {
                double* first = matrix + p * size;
                double* second = matrix + q * size;
                const double app = dot(first, first, size);
                const double aqq = dot(second, second, size);
                const double apq = dot(first, second, size);
                const double small = least * std::sqrt(app) * std::sqrt(aqq);
                if (std::fabs(apq) <= std::max(small, std::numeric_limits<double>::min())) {
                    continue;
                }
                turned = true;
                const Rotation by = rotation_of(app, apq, aqq);
                rotate(first, second, size, by.c, by.s);
                rotate(vectors + p * size, vectors + q * size, size, by.c, by.s);
            }
        }
    }
    for (std::size_t i = 0; i < size; ++i) {
        values[i] = dot(matrix + i * size, matrix + i * size, size);
    }
}

void triangular_factor(double* matrix, std::size_t rows, std::size_t columns, double* scratch) {
    double* v = scratch;
    double* product = scratch + rows;
    for (std::size_t k = 0; k < columns && k + 1 < rows; ++k) {
        double tail = 0.0;
        for (std::size_t i = k; i < rows; ++i) {
            v[i] = matrix[i * columns + k];
            tail += i > k ? v[i] * v[i] : 0.0;
        }
        if (tail == 0.0) {
            continue;
        }
        const double norm = std::sqrt(v[k] * v[k] + tail);
        const double pivot = v[k] > 0 ? -norm : norm;
        v[k] -= pivot;
        const double factor = 2.0 / (v[k] * v[k] + tail);
        std::fill_n(product + k, columns - k, 0.0);
        for (std::size_t i = k; i < rows; ++i) {
            const double* row = matrix + i * columns;
            for (std::size_t j = k + 1; j < columns; ++j) {
                product[j] += v[i] * row[j];
            }
        }
        matrix[k * columns + k] = pivot;
        for (std::size_t i = k; i < rows; ++i) {
            double* row = matrix + i * columns;
            const double share = factor * v[i];
            for (std::size_t j = k + 1; j < columns; ++j) {
                row[j] -= share * product[j];
            }
            row[k] = i > k ? 0.0 : pivot;
        }
    }
}

std::size_t leading_component(const double* vector, std::size_t size) {
    double largest = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
        largest = std::max(largest, std::fabs(vector[i]));
    }
    std::size_t at = 0;
    while (at + 1 < size && std::fabs(vector[at]) < largest * (1.0 - kSameMagnitude)) {
        ++at;
    }
    return at;
}

void sort_and_turn(std::size_t count, std::size_t size, double* values, double* vectors) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return values[a] > values[b] || (values[a] == values[b] && a < b); });
    const std::vector<double> old_values(values, values + count);
    const std::vector<double> old_vectors(vectors, vectors + count * size);
    for (std::size_t i = 0; i < count; ++i) {
        // a matrix of sums of squares has no value below 0 but by rounding
        values[i] = std::max(0.0, old_values[order[i]]);
        const double* from = old_vectors.data() + order[i] * size;
        const double sign = from[leading_component(from, size)] < 0 ? -1.0 : 1.0;
        for (std::size_t j = 0; j < size; ++j) {
            vectors[i * size + j] = sign * from[j] + 0.0;
        }
    }
}

}  // namespace pca
