// SPDX-License-Identifier: BSD-3-Clause
// The grid, what it is filled with, and what a run begins with.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "problem.h"
#include "study.h"

namespace wave {
namespace {

// How much of a difference in time the sponge takes at the grid's face.
constexpr double kTaken = 0.1;

std::int64_t whole(const nw_run* run, const char* knob, std::int64_t absent) {
    return static_cast<std::int64_t>(nw_number(run, knob, static_cast<double>(absent)));
}

bool is(const nw_run* run, const char* knob, const char* value) {
    const char* text = nw_text(run, knob);
    return text != nullptr && strcmp(text, value) == 0;
}

// dt / (h √m) where that is largest.
double courant(const nw_run* run) { return nw_number(run, "courant", 0.35); }

// The largest for which no wave grows: the sponge's friction leaves 2 (1 + keep) of the 4 that there are without.
double most_courant(const nw_run* run, int radius) {
    double weight[kMostRadius + 1];
    derivative_weights(radius, weight);
    double largest = -weight[0];
    for (int k = 1; k <= radius; ++k) {
        largest += 2 * (k % 2 == 1 ? weight[k] : -weight[k]);
    }
    const double kept = whole(run, "sponge", 0) > 0 ? std::pow(1 - kTaken, 3) : 1;
    return std::sqrt(2 * (1 + kept) / (3 * largest));
}

// Speed, as a share of the largest: layers that are faster below, and what varies from point to point.
double speed(const nw_run* run, const Problem& p, std::int64_t z, std::int64_t y, std::int64_t x) {
    const std::int64_t layer = 8 * z / p.nz;
    const auto place = static_cast<std::uint64_t>((z * p.ny + y) * p.nx + x);
    return 0.5 + 0.05 * static_cast<double>(layer) + 0.15 * nw_uniform(nw_random(run->seed, place));
}

int outside(nw_run* run, const char* what, std::int64_t at, const char* direction, std::int64_t n) {
    return nw_fail(run, "the %s at %s=%lld lies outside the grid\nhint: give 0 to %lld", what, direction,
                   static_cast<long long>(at), static_cast<long long>(n - 1));
}

void start_planes(const nw_run* run, const Problem& p, float* field, bool earlier) {
    const Start start(run, p);
    const std::int64_t planes = p.end - p.begin + 2 * p.ghost;
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t i = 0; i < planes; ++i) {
        const std::int64_t z = p.begin - p.ghost + i;
        std::fill_n(field + i * p.plane, p.plane + (i + 1 == planes ? kLine : 0), 0.0F);
        for (std::int64_t y = 0; z >= 0 && z < p.nz && y < p.ny; ++y) {
            for (std::int64_t x = 0; x < p.nx; ++x) {
                field[p.at(z, y) + x] = static_cast<float>(start.value(z, y, x, earlier));
            }
        }
    }
}

// Ricker's, with a main period of some twenty steps.
double ricker(int step) {
    const double turns = std::numbers::pi * 0.05 * (step - 24);
    return (1 - 2 * turns * turns) * std::exp(-turns * turns);
}

}  // namespace

// Fornberg 1988, doi 10.1090/S0025-5718-1988-0935077-0, in closed form for central ones.
void derivative_weights(int radius, double* weight) {
    weight[0] = 0;
    for (int k = 1; k <= radius; ++k) {
        double product = 1;
        for (int j = 1; j <= radius; ++j) {
            if (j != k) {
                product *= static_cast<double>(j * j) / (j * j - k * k);
            }
        }
        weight[k] = product / (k * k);
        weight[0] -= 2 * weight[k];
    }
}

double cache_of_thread() {
    const long second = sysconf(_SC_LEVEL2_CACHE_SIZE);
    const long last = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return static_cast<double>(second > 0 ? second : 1L << 20) + static_cast<double>(last > 0 ? last : 32L << 20) / 8;
}

double keep(std::int64_t at, std::int64_t n, std::int64_t width) {
    const std::int64_t inside = std::min(at, n - 1 - at);
    if (inside >= width) {
        return 1;
    }
    const double depth = static_cast<double>(width - inside) / static_cast<double>(width);
    return 1 - kTaken * depth * depth;
}

Start::Start(const nw_run* run, const Problem& p)
    : kind_(is(run, "start", "rest")    ? Kind::rest
            : is(run, "start", "pulse") ? Kind::pulse
                                        : Kind::field),
      courant_(courant(run)),
      middle_{0.5 * static_cast<double>(p.nz - 1), 0.5 * static_cast<double>(p.ny - 1),
              0.5 * static_cast<double>(p.nx - 1)},
      width_(static_cast<double>(p.nx + 1) / 16) {
    const std::int64_t n[3] = {p.nz, p.ny, p.nx};
    for (int i = 0; i < 3; ++i) {
        for (std::int64_t at = 0; at < n[i]; ++at) {
            along_[i].push_back(0.6 + 0.4 * std::sin(0.37 * static_cast<double>(at) + i));
        }
    }
}

double Start::value(std::int64_t z, std::int64_t y, std::int64_t x, bool earlier) const {
    if (kind_ == Kind::rest) {
        return 0;
    }
    if (kind_ == Kind::field) {
        const auto of = [&](int i, std::int64_t at) { return along_[i][static_cast<std::size_t>(at)]; };
        return (earlier ? 0.97 : 1) * of(0, z) * of(1, y) * of(2, x);
    }
    const double at[3] = {static_cast<double>(z), static_cast<double>(y), static_cast<double>(x)};
    double square = 0;
    for (int i = 0; i < 3; ++i) {
        square += (at[i] - middle_[i]) * (at[i] - middle_[i]);
    }
    const auto gauss = [&](double r) { return std::exp(-r * r / (2 * width_ * width_)); };
    if (!earlier) {
        return gauss(std::sqrt(square));
    }
    // d'Alembert's for r u, and its limit in the middle
    const double r = std::sqrt(square);
    const double far = courant_;
    return r > 0 ? ((r - far) * gauss(r - far) + (r + far) * gauss(r + far)) / (2 * r)
                 : (1 - far * far / (width_ * width_)) * gauss(far);
}

Problem problem(const nw_run* run) {
    Problem p{};
    const std::int64_t n = whole(run, "n", 1);
    p.nz = whole(run, "nz", n);
    p.ny = whole(run, "ny", n);
    p.nx = whole(run, "nx", n);
    p.radius = static_cast<int>(whole(run, "order", 8)) / 2;
    p.steps = static_cast<int>(whole(run, "steps", 1));
    // a rank has at least as many planes as its neighbour needs of it
    p.active = static_cast<int>(std::clamp<std::int64_t>(p.nz / p.radius, 1, run->ranks));
    const auto planes = static_cast<std::uint64_t>(p.nz);
    if (run->rank < p.active) {
        p.begin = static_cast<std::int64_t>(nw_begin(planes, run->rank, p.active));
        p.end = static_cast<std::int64_t>(nw_begin(planes, run->rank + 1, p.active));
    }
    p.between = p.steps;
    p.ghost = p.radius;
    if (p.active > 1) {
        const auto most = std::min<std::int64_t>(whole(run, "between", 4), p.nz / p.active / p.radius);
        p.between = static_cast<int>(std::min<std::int64_t>(most, p.steps));
        p.ghost = std::int64_t{p.radius} * p.between;
    }
    // odd numbers of lines from row to row and from plane to plane: neighbours do not share sets of a cache
    p.row = kLine * ((1 + (p.nx + kLine - 1) / kLine) | 1);
    p.plane = p.row * ((p.ny + std::int64_t{2} * p.radius) | 1);
    p.even = static_cast<float*>(nw_data(run, "even"));
    p.odd = static_cast<float*>(nw_data(run, "odd"));
    p.c = static_cast<const float*>(nw_data(run, "c"));
    p.traces = static_cast<float*>(nw_data(run, "traces"));
    p.source_z = whole(run, "source_z", p.nz / 2);
    p.source_y = whole(run, "source_y", p.ny / 2);
    p.source_x = whole(run, "source_x", p.nx / 2);
    p.receiver_z = whole(run, "receiver_z", p.nz / 4);
    p.receiver_y = whole(run, "receiver_y", p.ny / 2);
    return p;
}

int layout(nw_run* run) {
    const Problem p = problem(run);
    if (p.source_z >= p.nz) {
        return outside(run, "source", p.source_z, "source_z", p.nz);
    }
    if (p.source_y >= p.ny) {
        return outside(run, "source", p.source_y, "source_y", p.ny);
    }
    if (p.source_x >= p.nx) {
        return outside(run, "source", p.source_x, "source_x", p.nx);
    }
    if (p.receiver_z >= p.nz) {
        return outside(run, "row of receivers", p.receiver_z, "receiver_z", p.nz);
    }
    if (p.receiver_y >= p.ny) {
        return outside(run, "row of receivers", p.receiver_y, "receiver_y", p.ny);
    }
    const double most = most_courant(run, p.radius);
    if (!(courant(run) > 0 && courant(run) <= most)) {
        return nw_fail(run,
                       "with a Courant number of %g the field grows without bound\nhint: give courant=%.3f, or less",
                       courant(run), std::floor(1000 * most) / 1000);
    }
    const std::int64_t planes = p.end > p.begin ? p.end - p.begin + 2 * p.ghost : 0;
    const auto count = static_cast<std::uint64_t>(planes > 0 ? planes * p.plane + kLine : 0);
    nw_declare(run, "c", NW_F32, NW_INPUT, count);
    nw_declare(run, "even", NW_F32, NW_OUTPUT, count);
    nw_declare(run, "odd", NW_F32, NW_OUTPUT, count);
    nw_declare(run, "traces", NW_F32, NW_OUTPUT, static_cast<std::uint64_t>(p.steps * p.nx));
    return 0;
}

int fill(nw_run* run) {
    const Problem p = problem(run);
    const bool uniform = is(run, "model", "uniform");
    auto* c = const_cast<float*>(p.c);
    const std::int64_t planes = p.end > p.begin ? p.end - p.begin + 2 * p.ghost : 0;
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t i = 0; i < planes; ++i) {
        const std::int64_t z = p.begin - p.ghost + i;
        std::fill_n(c + i * p.plane, p.plane + (i + 1 == planes ? kLine : 0), 0.0F);
        for (std::int64_t y = 0; z >= 0 && z < p.nz && y < p.ny; ++y) {
            for (std::int64_t x = 0; x < p.nx; ++x) {
                const double v = courant(run) * (uniform ? 1 : speed(run, p, z, y, x));
                c[p.at(z, y) + x] = static_cast<float>(v * v);
            }
        }
    }
    auto* s = new State{};
    run->own = s;
    double weight[kMostRadius + 1];
    derivative_weights(p.radius, weight);
    s->weight[0] = static_cast<float>(3 * weight[0]);
    for (int k = 1; k <= p.radius; ++k) {
        s->weight[k] = static_cast<float>(weight[k]);
    }
    const std::int64_t sponge = whole(run, "sponge", 0);
    const auto profile = [&](std::int64_t n, std::int64_t room) {
        std::vector<float> kept(static_cast<std::size_t>(room), 1.0F);
        for (std::int64_t i = 0; i < n; ++i) {
            kept[static_cast<std::size_t>(i)] = static_cast<float>(keep(i, n, sponge));
        }
        return kept;
    };
    s->keep_z = profile(p.nz, p.nz);
    s->keep_y = profile(p.ny, p.ny);
    s->keep_x = profile(p.nx, p.row);
    s->wavelet.resize(static_cast<std::size_t>(p.steps));
    for (int step = 0; step < p.steps; ++step) {
        s->wavelet[static_cast<std::size_t>(step)] = static_cast<float>(ricker(step));
    }
    return 0;
}

int reset(nw_run* run) {
    const Problem p = problem(run);
    if (p.end > p.begin) {
        start_planes(run, p, p.even, false);
        start_planes(run, p, p.odd, true);
    }
    std::fill_n(p.traces, p.steps * p.nx, std::numeric_limits<float>::quiet_NaN());
    return 0;
}

void release(nw_run* run) {
    delete static_cast<State*>(run->own);
    run->own = nullptr;
}

void share_traces(nw_run* run, const Problem& p) {
    if (run->ranks == 1) {
        return;
    }
    int owner = 0;
    while (static_cast<std::int64_t>(nw_begin(static_cast<std::uint64_t>(p.nz), owner + 1, p.active)) <= p.receiver_z) {
        ++owner;
    }
    run->broadcast(run, p.traces, static_cast<std::size_t>(p.steps * p.nx) * sizeof(float), owner);
}

// Per point the field at two steps and c are read, and one of the fields is written.
void work(const nw_run* run, nw_work* out) {
    const Problem p = problem(run);
    out->items = static_cast<double>((p.end - p.begin) * p.ny * p.nx) * p.steps;
    // for each distance five additions, a product and its sum; then the point, the sponge and c
    out->flops = out->items * (7 * p.radius + 7);
    out->bytes_read = 12 * out->items;
    out->bytes_written = 4 * out->items;
}

}  // namespace wave
