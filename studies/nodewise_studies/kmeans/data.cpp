// SPDX-License-Identifier: BSD-3-Clause
// Points, first centres, and how much work an iteration is.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "study.h"

namespace kmeans {
namespace {

constexpr int kColours = 48;  // of the mixture

// In [0, 1), all 24 bits of a float used.
float unit(std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24F; }

// About normal, with deviation 1: the sum of four uniform numbers of 16 bits each.
float normal(std::uint64_t bits) {
    float sum = 0;
    for (int part = 0; part < 4; ++part) {
        sum += static_cast<float>((bits >> (16 * part)) & 0xffff);
    }
    return (sum * 0x1p-16F - 2.0F) * std::sqrt(3.0F);
}

// A colour as a picture has it: of one of some objects, each with its own colour and shading, in whole numbers.
void rgb(std::uint64_t seed, std::uint64_t point, int dims, float* row) {
    const std::uint64_t object = nw_random(seed + 1, point) % kColours;
    const float shading = 6.0F + 24.0F * unit(nw_random(seed + 2, object));
    for (int a = 0; a < dims; ++a) {
        const auto d = static_cast<std::uint64_t>(dims);
        const auto at = static_cast<std::uint64_t>(a);
        const float middle = 255.0F * unit(nw_random(seed + 3, object * d + at));
        const float x = std::round(middle + shading * normal(nw_random(seed + 4, point * d + at)));
        row[a] = std::min(255.0F, std::max(0.0F, x));
    }
}

void make_point(std::string_view input, std::uint64_t seed, std::uint64_t point, int dims, float* row) {
    if (input == "rgb") {
        rgb(seed, point, dims, row);
        return;
    }
    for (int a = 0; a < dims; ++a) {
        const std::uint64_t bits =
            nw_random(seed + 5, point * static_cast<std::uint64_t>(dims) + static_cast<std::uint64_t>(a));
        if (input == "uniform") {
            row[a] = unit(bits);
        } else if (input == "ties") {
            row[a] = static_cast<float>(bits >> 62);
        } else if (input == "same") {
            row[a] = 77.25F;
        } else {
            // sizes so far apart that squares overflow and underflow
            row[a] = std::ldexp(unit(bits) * 2.0F - 1.0F, static_cast<int>(bits % 246) - 125);
        }
    }
}

bool is_taken(const float* rows, int count, int dims, const float* row) {
    for (int c = 0; c < count; ++c) {
        if (std::equal(row, row + dims, rows + std::int64_t{c} * dims)) {
            return true;
        }
    }
    return false;
}

// Random points, each unlike those before where a few attempts find one, so that no cluster begins empty.
void choose_centres(const State& own, std::uint64_t seed, const float* points, float* initial) {
    const auto count = static_cast<std::uint64_t>(own.points);
    for (int c = 0; c < own.clusters; ++c) {
        const float* row = nullptr;
        for (std::uint64_t attempt = 0; attempt < 8; ++attempt) {
            row = points +
                  static_cast<std::int64_t>(nw_random(seed + 6, static_cast<std::uint64_t>(c) * 8 + attempt) % count) *
                      own.dims;
            if (!is_taken(initial, c, own.dims, row)) {
                break;
            }
        }
        std::copy(row, row + own.dims, initial + std::int64_t{c} * own.dims);
    }
}

}  // namespace

int layout(nw_run* run) {
    auto own = std::make_unique<State>();
    own->points = static_cast<std::int64_t>(nw_number(run, "points", 1e6));
    own->clusters = static_cast<int>(nw_number(run, "clusters", 1000));
    own->dims = static_cast<int>(nw_number(run, "dims", 3));
    own->iterations = static_cast<int>(nw_number(run, "iterations", 10));
    const auto centres = static_cast<std::uint64_t>(own->clusters) * static_cast<std::uint64_t>(own->dims);
    const auto points = static_cast<std::uint64_t>(own->points);
    nw_declare(run, "points", NW_F32, NW_INPUT, points * static_cast<std::uint64_t>(own->dims));
    nw_declare(run, "initial", NW_F32, NW_INPUT, centres);
    nw_declare(run, "labels", NW_I32, NW_OUTPUT, points);
    nw_declare(run, "used", NW_F32, NW_OUTPUT, centres);
    nw_declare(run, "centres", NW_F32, NW_OUTPUT, centres);
    run->own = own.release();
    return 0;
}

int fill(nw_run* run) {
    const State& own = state(run);
    const char* text = nw_text(run, "input");
    const std::string_view input = text != nullptr ? text : "rgb";
    const std::uint64_t seed = nw_random(run->seed, 0);
    auto* points = array<float>(run, "points");
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t i = 0; i < own.points; ++i) {
        make_point(input, seed, static_cast<std::uint64_t>(i), own.dims, points + i * own.dims);
    }
    choose_centres(own, seed, points, array<float>(run, "initial"));
    return 0;
}

void work(const nw_run* run, nw_work* out) {
    const State& own = state(run);
    const double points = static_cast<double>(own.points) * own.iterations;
    const double distances = points * own.clusters;
    out->items = distances;
    // |c|² / 2 - p · c orders the centres as well as (p - c)² does: a fused multiply-add for each dimension; comparing
    // them, and adding the points up, is not counted
    out->flops = distances * own.dims * 2;
    out->bytes_read = points * own.dims * 4;
    out->bytes_written = 4 * static_cast<double>(own.points);
}

// The limit: whatever the method, every point has to be read once an iteration, to be added to a sum.
int read_points(nw_run* run) {
    const State& own = state(run);
    const auto* points = array<const float>(run, "points");
    const std::int64_t count = own.points * own.dims;
    float largest = 0;
    for (int iteration = 0; iteration < own.iterations; ++iteration) {
#pragma omp parallel for simd schedule(static) reduction(max : largest) num_threads(run->threads)
        for (std::int64_t i = 0; i < count; ++i) {
            largest = points[i] > largest ? points[i] : largest;
        }
        array<float>(run, "centres")[0] = largest;
    }
    return 0;
}

void release(nw_run* run) {
    delete static_cast<State*>(run->own);
    run->own = nullptr;
}

}  // namespace kmeans
