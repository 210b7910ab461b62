// SPDX-License-Identifier: BSD-3-Clause
#include "solver.h"

#include <algorithm>
#include <stdexcept>

#include "simd_math/vectors.h"

namespace krylov {
namespace {

using nw::on_chunks;
using nw::on_parts;

double* zeros(nw_run* run, std::int64_t count) {
    auto* data = static_cast<double*>(run->memory(run, static_cast<std::size_t>(count) * sizeof(double), NW_HUGE));
    if (data == nullptr) {
        throw std::runtime_error(run->error);
    }
    return data;
}

// Each thread touches first what it will work on.
Basis make_basis(nw_run* run, int vectors, std::int64_t own, std::int64_t width) {
    constexpr std::int64_t kLine = 8;
    constexpr std::int64_t kPage = 512;
    std::int64_t stride = (width + kLine - 1) / kLine * kLine;
    // neighbours whose elements begin at the same place of a page get in each other's way
    stride += stride % kPage == 0 ? kLine : 0;
    const Basis made{zeros(run, vectors * stride), stride};
    on_parts(run, own, [&](int, std::int64_t begin, std::int64_t end) {
        for (int j = 0; j < vectors; ++j) {
            std::fill(made.at(j) + begin, made.at(j) + end, 0.0);
        }
    });
    for (int j = 0; j < vectors; ++j) {
        std::fill(made.at(j) + own, made.at(j) + stride, 0.0);
    }
    return made;
}

}  // namespace

Solver::Solver(nw_run* run, const Problem& p, bool with_second)
    : matrix(run, p),
      preconditioner(run, p, matrix),
      basis(make_basis(run, p.restart + 1, p.n, p.n)),
      second(with_second ? make_basis(run, p.restart, p.n, matrix.width()) : Basis{}),
      z(make_basis(run, 1, p.n, matrix.width()).data),
      products(static_cast<std::size_t>(p.restart) + 2),
      factors(static_cast<std::size_t>(p.restart) + 2, 1.0),
      sums_(run->threads, p.restart + 2),
      n_(p.n),
      chunk_(p.chunk) {}

void Solver::multiply(nw_run* run, double* from, double* w, int count, double* out) {
    matrix.refresh(run, from);
    sums_.clear();
    on_parts(run, n_, [&](int thread, std::int64_t begin, std::int64_t end) {
        on_chunks(begin, end, chunk_, [&](std::int64_t at, std::int64_t length) {
            matrix.multiply(from, w + at, at, at + length);
            simd_math::dots(basis.data + at, basis.stride, count, w + at, length, sums_.of(thread));
        });
    });
    if (count > 0) {
        sums_.total(run, count, out);
    }
}

void Solver::subtract(nw_run* run, double* w, double* s, int count, const double* a, const double* other, double* out) {
    sums_.clear();
    on_parts(run, n_, [&](int thread, std::int64_t begin, std::int64_t end) {
        double* sums = sums_.of(thread);
        on_chunks(begin, end, chunk_, [&](std::int64_t at, std::int64_t length) {
            simd_math::subtract(w + at, basis.data + at, basis.stride, count, a, length);
            sums[0] += simd_math::dot(w + at, w + at, length);
            if (other != nullptr) {
                sums[1] += simd_math::dot(w + at, other + at, length);
            }
            if (s != nullptr) {
                simd_math::subtract(s + at, second.data + at, second.stride, count, a, length);
            }
        });
    });
    sums_.total(run, 2, out);
}

void Solver::subtract_each(nw_run* run, double* w, double* s, int count, double* a) {
    for (int i = 0; i < count; ++i) {
        a[i] = dot(run, basis.at(i), w);
        on_parts(run, n_, [&](int, std::int64_t begin, std::int64_t end) {
            simd_math::axpy(w + begin, -a[i], basis.at(i) + begin, end - begin);
            if (s != nullptr) {
                simd_math::axpy(s + begin, -a[i], second.at(i) + begin, end - begin);
            }
        });
    }
}

double Solver::dot(nw_run* run, const double* x, const double* y) {
    sums_.clear();
    on_parts(run, n_, [&](int thread, std::int64_t begin, std::int64_t end) {
        sums_.of(thread)[0] = simd_math::dot(x + begin, y + begin, end - begin);
    });
    double total = 0;
    sums_.total(run, 1, &total);
    return total;
}

void Solver::scale(nw_run* run, double* x, double factor) const {
    on_parts(run, n_,
             [&](int, std::int64_t begin, std::int64_t end) { simd_math::scale(x + begin, factor, end - begin); });
}

double Solver::step(nw_run* run, double* x, const double* along, double* r, const double* w, double factor) {
    sums_.clear();
    on_parts(run, n_, [&](int thread, std::int64_t begin, std::int64_t end) {
        on_chunks(begin, end, chunk_, [&](std::int64_t at, std::int64_t length) {
            simd_math::axpy(x + at, factor, along + at, length);
            simd_math::axpy(r + at, -factor, w + at, length);
            sums_.of(thread)[0] += simd_math::dot(r + at, r + at, length);
        });
    });
    double square = 0;
    sums_.total(run, 1, &square);
    return square;
}

double Solver::residual(nw_run* run, const Problem& p, double* r) {
    on_parts(run, n_, [&](int, std::int64_t begin, std::int64_t end) { std::copy(p.x + begin, p.x + end, z + begin); });
    matrix.refresh(run, z);
    sums_.clear();
    on_parts(run, n_, [&](int thread, std::int64_t begin, std::int64_t end) {
        on_chunks(begin, end, chunk_, [&](std::int64_t at, std::int64_t length) {
            matrix.multiply(z, r + at, at, at + length);
            for (std::int64_t i = at; i < at + length; ++i) {
                r[i] = p.b[i] - r[i];
            }
            sums_.of(thread)[0] += simd_math::dot(r + at, r + at, length);
        });
    });
    double square = 0;
    sums_.total(run, 1, &square);
    return square;
}

double Solver::communication_s() {
    const double spent = sums_.communication_s() + matrix.communication_s() - exchanged_s_;
    exchanged_s_ = matrix.communication_s();
    return spent;
}

}  // namespace krylov
