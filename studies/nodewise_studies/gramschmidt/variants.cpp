// SPDX-License-Identifier: BSD-3-Clause
// Five ways to make a basis orthonormal one vector after the other, as in a Krylov solver: none looks at a vector
// before all those before it are done but for a factor.
#include <algorithm>
#include <cmath>
#include <utility>

#include "problem.h"
#include "simd_math/vectors.h"
#include "study.h"

namespace gramschmidt {
namespace {

using simd_math::axpy;
using simd_math::dot;
using simd_math::dots;
using simd_math::dots_of_two;
using simd_math::scale;
using simd_math::subtract;

Scratch& scratch(nw_run* run) { return *static_cast<Scratch*>(run->own); }

void copy_vector(nw_run* run, const Problem& p, const double* from, double* to) {
    on_parts(run, p.n,
             [&](int, std::int64_t begin, std::int64_t end) { std::copy(from + begin, from + end, to + begin); });
}

void take(nw_run* run, const Problem& p, int j) {
    copy_vector(run, p, p.vector_of(p.v, j), p.vector_of(p.q, j));
    if (p.update) {
        copy_vector(run, p, p.vector_of(p.d0, j), p.vector_of(p.d, j));
    }
}

double dot_of(nw_run* run, const Problem& p, const double* x, const double* y) {
    Sums& sums = scratch(run).sums;
    sums.clear();
    on_parts(run, p.n, [&](int thread, std::int64_t begin, std::int64_t end) {
        sums.of(thread)[0] = dot(x + begin, y + begin, end - begin);
    });
    double total = 0;
    sums.total(run, 1, &total);
    return total;
}

void add_multiple(nw_run* run, const Problem& p, double* y, double a, const double* x) {
    on_parts(run, p.n, [&](int, std::int64_t begin, std::int64_t end) { axpy(y + begin, a, x + begin, end - begin); });
}

void scale_both(nw_run* run, const Problem& p, int j, double factor) {
    on_parts(run, p.n, [&](int, std::int64_t begin, std::int64_t end) {
        scale(p.vector_of(p.q, j) + begin, factor, end - begin);
        if (p.update) {
            scale(p.vector_of(p.d, j) + begin, factor, end - begin);
        }
    });
}

int normalise(nw_run* run, const Problem& p, int j, double square) {
    if (!(square > 0)) {
        return nw_fail(run, "vector %d depends on those before it", j);
    }
    p.r_of(j, j) = std::sqrt(square);
    scale_both(run, p, j, 1 / p.r_of(j, j));
    return 0;
}

void clear_r(const Problem& p) { std::fill(p.r, p.r + std::int64_t{p.vectors} * p.vectors, 0.0); }

// d_j -= D a, chunk by chunk.
void update_second(nw_run* run, const Problem& p, int j, const double* a) {
    on_parts(run, p.n, [&](int, std::int64_t begin, std::int64_t end) {
        on_chunks(begin, end, p.chunk, [&](std::int64_t at, std::int64_t count) {
            subtract(p.vector_of(p.d, j) + at, p.d + at, p.n, j, a, count);
        });
    });
}

// The products of all vectors before j with q_j, chunk by chunk, and one sum over the ranks.
void project(nw_run* run, const Problem& p, int j, double* out) {
    Sums& sums = scratch(run).sums;
    sums.clear();
    on_parts(run, p.n, [&](int thread, std::int64_t begin, std::int64_t end) {
        on_chunks(begin, end, p.chunk, [&](std::int64_t at, std::int64_t count) {
            dots(p.q + at, p.n, j, p.vector_of(p.q, j) + at, count, sums.of(thread));
        });
    });
    sums.total(run, j, out);
}

// q_j -= Q a and, where it is asked for, d_j -= D a, chunk by chunk; gives |q_j|² of what is left.
double subtract_all(nw_run* run, const Problem& p, int j, const double* a, const double* a_second) {
    Sums& sums = scratch(run).sums;
    sums.clear();
    on_parts(run, p.n, [&](int thread, std::int64_t begin, std::int64_t end) {
        on_chunks(begin, end, p.chunk, [&](std::int64_t at, std::int64_t count) {
            double* w = p.vector_of(p.q, j) + at;
            subtract(w, p.q + at, p.n, j, a, count);
            sums.of(thread)[0] += dot(w, w, count);
            if (a_second != nullptr) {
                subtract(p.vector_of(p.d, j) + at, p.d + at, p.n, j, a_second, count);
            }
        });
    });
    double square = 0;
    sums.total(run, 1, &square);
    return square;
}

// The published modified one; `now` says whether d_j is updated step by step with q_j.
int modified_steps(nw_run* run, bool now) {
    const Problem p = problem(run);
    clear_r(p);
    for (int j = 0; j < p.vectors; ++j) {
        take(run, p, j);
        double* w = p.vector_of(p.q, j);
        for (int i = 0; i < j; ++i) {
            const double a = dot_of(run, p, p.vector_of(p.q, i), w);
            p.r_of(i, j) = a;
            add_multiple(run, p, w, -a, p.vector_of(p.q, i));
            if (p.update && now) {
                add_multiple(run, p, p.vector_of(p.d, j), -a, p.vector_of(p.d, i));
            }
            scratch(run).a[static_cast<std::size_t>(i)] = a;
        }
        if (p.update && !now) {
            update_second(run, p, j, scratch(run).a.data());
        }
        if (normalise(run, p, j, dot_of(run, p, w, w)) != 0) {
            return 1;
        }
    }
    return 0;
}

// Some neighbours of the vectors before j.
struct Panel {
    int j;
    int first;
    int count;
    [[nodiscard]] bool begins() const { return first == 0; }
    [[nodiscard]] bool ends() const { return first + count == j; }
};

// The products of a panel with a chunk of w, and of the last panel those with the last vector.
void multiply_panel(const Problem& p, const Panel& panel, std::int64_t at, std::int64_t count, double* out) {
    const double* w = p.vector_of(panel.begins() ? p.v : p.q, panel.j) + at;
    const double* basis = p.vector_of(p.q, panel.first) + at;
    if (panel.ends()) {
        dots_of_two(basis, p.n, panel.count, w, p.vector_of(p.q, panel.j - 1) + at, count, out, out + panel.count);
    } else {
        dots(basis, p.n, panel.count, w, count, out);
    }
}

// What is to be subtracted for a panel, in place of its products; gives the factor that makes the last vector's norm 1,
// which is 0 where it has none, and 1 for a panel that the last vector is not of.
double solve_panel(const Problem& p, Scratch& s, const Panel& panel) {
    const auto row = [&](int i) { return s.products.data() + std::int64_t{i} * p.vectors; };
    double* a = s.a.data();
    double factor = 1;
    if (panel.ends()) {
        const double* with_last = a + panel.count;
        const int last = panel.j - 1;
        const double square = with_last[panel.count - 1];
        if (!(square > 0)) {
            return 0;
        }
        p.r_of(last, last) = std::sqrt(square);
        factor = 1 / p.r_of(last, last);
        a[panel.count - 1] *= factor;
        for (int i = 0; i + 1 < panel.count; ++i) {
            row(last)[panel.first + i] = with_last[i] * factor;
        }
    }
    for (int i = 1; i < panel.count; ++i) {
        for (int m = 0; m < i; ++m) {
            a[i] -= row(panel.first + i)[panel.first + m] * a[m];
        }
    }
    for (int i = 0; i < panel.count; ++i) {
        p.r_of(panel.first + i, panel.j) = a[i];
    }
    return factor;
}

// q_j -= Q a, a chunk of it, of what was given for the first panel; the last vector gets its factor on the way.
void subtract_panel(const Problem& p, const Panel& panel, const double* a, double factor, std::int64_t at,
                    std::int64_t count) {
    double* to = p.vector_of(p.q, panel.j) + at;
    if (panel.begins()) {
        const double* from = p.vector_of(p.v, panel.j) + at;
        std::copy(from, from + count, to);
    }
    if (panel.ends()) {
        scale(p.vector_of(p.q, panel.j - 1) + at, factor, count);
    }
    subtract(to, p.vector_of(p.q, panel.first) + at, p.n, panel.count, a, count);
}

// One pass: what `before` takes out of vector j is subtracted, chunk by chunk, and the rest multiplied with `next`,
// whose products go into a; either may be null.
void pass_panels(nw_run* run, const Problem& p, Scratch& s, const Panel* before, double factor, const Panel* next) {
    s.sums.clear();
    on_parts(run, p.n, [&](int thread, std::int64_t begin, std::int64_t end) {
        on_chunks(begin, end, p.chunk, [&](std::int64_t at, std::int64_t count) {
            if (before != nullptr) {
                subtract_panel(p, *before, s.b.data(), factor, at, count);
            }
            if (next != nullptr) {
                multiply_panel(p, *next, at, count, s.sums.of(thread));
            }
        });
    });
    if (next != nullptr) {
        s.sums.total(run, next->ends() ? 2 * next->count : next->count, s.a.data());
    }
}

// d_j is combined as q_j was, and the one before it scaled as that was, in a pass of its own: what it reads would drive
// panels out of the cache.
void follow(nw_run* run, const Problem& p, int j) {
    double* a = scratch(run).a.data();
    for (int i = 0; i < j; ++i) {
        a[i] = p.r_of(i, j);
    }
    const double factor = 1 / p.r_of(j - 1, j - 1);
    on_parts(run, p.n, [&](int, std::int64_t begin, std::int64_t end) {
        on_chunks(begin, end, p.chunk, [&](std::int64_t at, std::int64_t count) {
            const double* from = p.vector_of(p.d0, j) + at;
            double* to = p.vector_of(p.d, j) + at;
            std::copy(from, from + count, to);
            scale(p.vector_of(p.d, j - 1) + at, factor, count);
            subtract(to, p.d + at, p.n, j, a, count);
        });
    });
}

// Makes vector j orthogonal to all before it; false where the one before it is none.
bool take_panels(nw_run* run, const Problem& p, Scratch& s, int j) {
    Panel before{};
    double factor = 1;
    for (int first = 0; first < j; first += p.panel) {
        const Panel next{j, first, std::min(p.panel, j - first)};
        pass_panels(run, p, s, first > 0 ? &before : nullptr, factor, &next);
        factor = solve_panel(p, s, next);
        if (factor == 0) {
            return false;
        }
        std::swap(s.a, s.b);
        before = next;
    }
    pass_panels(run, p, s, &before, factor, nullptr);
    if (p.update) {
        follow(run, p, j);
    }
    return true;
}

}  // namespace

int prepare(nw_run* run) {
    run->own = new Scratch(run->threads, problem(run).vectors);
    return 0;
}

void release(nw_run* run) { delete static_cast<Scratch*>(run->own); }

int modified(nw_run* run) { return modified_steps(run, true); }
int modified_deferred(nw_run* run) { return modified_steps(run, false); }

int classic(nw_run* run) {
    const Problem p = problem(run);
    clear_r(p);
    double* a = scratch(run).a.data();
    for (int j = 0; j < p.vectors; ++j) {
        take(run, p, j);
        project(run, p, j, a);
        const double square = subtract_all(run, p, j, a, p.update ? a : nullptr);
        for (int i = 0; i < j; ++i) {
            p.r_of(i, j) = a[i];
        }
        if (normalise(run, p, j, square) != 0) {
            return 1;
        }
    }
    return 0;
}

int classic_twice(nw_run* run) {
    const Problem p = problem(run);
    clear_r(p);
    double* a = scratch(run).a.data();
    double* again = scratch(run).b.data();
    for (int j = 0; j < p.vectors; ++j) {
        take(run, p, j);
        project(run, p, j, a);
        subtract_all(run, p, j, a, nullptr);
        project(run, p, j, again);
        for (int i = 0; i < j; ++i) {
            a[i] += again[i];
            p.r_of(i, j) = a[i];
        }
        const double square = subtract_all(run, p, j, again, p.update ? a : nullptr);
        if (normalise(run, p, j, square) != 0) {
            return 1;
        }
    }
    return 0;
}

// Modified Gram-Schmidt by panels of vectors: the products of a panel with w in one pass, and in another what the
// modified method would subtract for them, which is a with (I + L) a = Q'w, L what is below the diagonal of the panel's
// Q'Q (Świrydowicz, Langou, Ananthan, Yang, Thomas 2021, doi 10.1002/nla.2343). A panel is subtracted in the pass that
// multiplies with the next one; where it stayed in the cache until then it is read from memory once. The last vector's
// row of L and its norm come from the pass of the last panel, so it is normalised one step late, while it is read
// anyway.
int panels(nw_run* run) {
    const Problem p = problem(run);
    clear_r(p);
    Scratch& s = scratch(run);
    for (int j = 0; j < p.vectors; ++j) {
        if (j == 0) {
            take(run, p, j);
        }
        if (j > 0 && !take_panels(run, p, s, j)) {
            return nw_fail(run, "vector %d depends on those before it", j - 1);
        }
    }
    const int end = p.vectors - 1;
    return normalise(run, p, end, dot_of(run, p, p.vector_of(p.q, end), p.vector_of(p.q, end)));
}

}  // namespace gramschmidt
