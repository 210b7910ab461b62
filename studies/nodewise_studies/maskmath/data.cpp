// SPDX-License-Identifier: BSD-3-Clause
// Inputs and work model.
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>

#include "study.h"

namespace maskmath {

double usual(Function function, std::uint64_t random) {
    const double part = nw_uniform(random);
    const double power = std::ldexp(1.0, static_cast<int>(random % 40) - 20);
    switch (function) {
        case kExp:
            return 60 * part - 30;
        case kLog:
            return (1 + part) * power;
        case kSin:
        case kCos:
            return 200 * part - 100;
        case kSqrt:
            return 1e6 * part + 1e-6;
        default:
            return 1 + part * power;
    }
}

namespace {

constexpr const char* kNames[kFunctions] = {"exp", "log", "sin", "cos", "sqrt", "acosh"};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kQuiet = std::numeric_limits<double>::quiet_NaN();
constexpr double kSignalling = std::numeric_limits<double>::signaling_NaN();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kSmallest = std::numeric_limits<double>::min();
constexpr double kTiniest = std::numeric_limits<double>::denorm_min();
// Floating-point operations of each function of ours with AVX-512: those that add or multiply in native/simd_math/, a
// fused multiply-add as two, and a square root as one; not what looks up, compares, chooses, splits or scales. 9
// multiply-adds and 3 others; 12 and 7; 16 and 8 for sine and cosine; 1; 7 and 16 for what acosh takes the logarithm
// of, and for that 13 and 10.
constexpr double kOperations[kFunctions] = {2 * 9 + 3, 2 * 12 + 7, 2 * 16 + 8, 2 * 16 + 8, 1, 2 * (7 + 13) + 16 + 10};
constexpr int kPoisons = 8;
constexpr int kEdges = 16;

// What would raise an exception or be slow if it were computed.
constexpr double kPoison[kFunctions][kPoisons] = {
    {1e4, -1e4, -745.0, 709.9, kInfinity, kSignalling, kLargest, kTiniest},
    {0.0, -0.0, -1.0, -kInfinity, kSignalling, kTiniest, -kTiniest, -kLargest},
    {kInfinity, -kInfinity, kSignalling, kLargest, 1e22, kTiniest, -kTiniest, 1e9},
    {kInfinity, -kInfinity, kSignalling, kLargest, 1e22, kTiniest, -kTiniest, 1e9},
    {-1.0, -kInfinity, kSignalling, -kTiniest, kTiniest, -kLargest, -1e-300, -2.0},
    {0.0, 0.5, -1.0, -kLargest, -kInfinity, kSignalling, kTiniest, 0.999},
};

// Where functions change their ways: zeros, the ends of subnormal numbers and of the range, infinities.
constexpr double kEdge[kFunctions][kEdges] = {
    {0.0, -0.0, 709.782712893384, 709.7827128933841, -708.3964185322641, -708.3964185322642, -745.1332191019411,
     -745.1332191019412, kInfinity, -kInfinity, kQuiet, kTiniest, -kSmallest, 1e-17, 1e300, -1e300},
    {0.0, -0.0, 1.0, 0x1.fffffffffffffp-1, 0x1.0000000000001p+0, kTiniest, kSmallest, 0x0.fffffffffffffp-1022,
     kInfinity, -kInfinity, kQuiet, -1.0, kLargest, 2.0, 0x1.6a09e667f3bcdp-1, -kTiniest},
    {0.0, -0.0, 0x1.921fb54442d18p+0, 0x1.921fb54442d18p+1, 642615.9188844458, 1e6, 0x1.e848000000001p+19, 1e22,
     kInfinity, -kInfinity, kQuiet, kTiniest, -kSmallest, kLargest, 0x1.6ac5b262ca1ffp+849, -1e9},
    {0.0, -0.0, 0x1.921fb54442d18p+0, 0x1.921fb54442d18p+1, 871790.3908407084, 1e6, 0x1.e848000000001p+19, 1e22,
     kInfinity, -kInfinity, kQuiet, kTiniest, -kSmallest, kLargest, 0x1.6ac5b262ca1ffp+849, -1e9},
    {0.0, -0.0, 1.0, 4.0, 2.0, kTiniest, kSmallest, 0x0.fffffffffffffp-1022, kInfinity, -kInfinity, kQuiet, -1.0,
     kLargest, 0x1.fffffffffffffp-1, 0x1.0000000000001p+0, 9.0},
    {1.0, 0x1.0000000000001p+0, 0x1.fffffffffffffp-1, 2.0, 0x1p28, 0x1.0000000000001p+28, 0x1p512, kLargest, kInfinity,
     -kInfinity, kQuiet, 0.0, -1.0, -kLargest, 1.5, 0x1.0000002p+0},
};

// All that a function can be asked for, each size as likely as any other.
double any(Function function, std::uint64_t random) {
    const double part = nw_uniform(random);
    const double wide = std::bit_cast<double>((random % 2047) << 52 | nw_mix(random) >> 12);
    switch (function) {
        case kExp:
            return 1460 * part - 750;
        case kSin:
        case kCos:
            return (random & 1) == 0 ? wide : -(2e6 * part);
        case kAcosh:
            return wide < 1 ? 1 + wide : wide;
        default:
            return wide;
    }
}

double argument(Function function, bool edges, std::uint64_t random) {
    if (!edges) {
        return usual(function, random);
    }
    const std::uint64_t kind = nw_mix(random ^ 1) % 8;
    if (kind == 0) {
        return kEdge[function][(random >> 20) % kEdges];
    }
    return kind < 4 ? usual(function, random) : any(function, random);
}

}  // namespace

int layout(nw_run* run) {
    auto* state = new (std::nothrow) State{};
    if (state == nullptr) {
        return nw_fail(run, "no memory");
    }
    run->own = state;
    state->density = 1;
    const char* function = nw_text(run, "function");
    for (int f = 0; f < kFunctions; ++f) {
        if (function != nullptr && std::strcmp(function, kNames[f]) == 0) {
            state->function = static_cast<Function>(f);
        }
    }
    // what takes up to 4 ulp and has no quicker kernel is computed as ever
    constexpr int kQuick[kFunctions] = {kExp, kLogQuick, kSinQuick, kCosQuick, kSqrt, kAcoshQuick};
    const bool quick = nw_number(run, "accuracy", 1) > 1;
    state->kernel = quick ? kQuick[state->function] : state->function;
    const char* input = nw_text(run, "input");
    state->edges = input != nullptr && std::strcmp(input, "edge") == 0;
    state->repeats = static_cast<std::int64_t>(nw_number(run, "repeat", 1));
    const char* others = nw_text(run, "others");
    state->zero = others != nullptr && std::strcmp(others, "zero") == 0;
    const char* mask = nw_text(run, "mask");
    if (mask != nullptr && std::strcmp(mask, "none") == 0) {
        state->density = 0;
    } else if (mask == nullptr || std::strcmp(mask, "all") != 0) {
        state->density = nw_number(run, "percent", 50) / 100;
    }
    const auto count = static_cast<std::uint64_t>(nw_number(run, "n", 1));
    nw_declare(run, "x", NW_F64, NW_INPUT, count);
    nw_declare(run, "kept", NW_F64, NW_INPUT, count);
    nw_declare(run, "mask", NW_U8, NW_INPUT, count);
    nw_declare(run, "y", NW_F64, NW_OUTPUT, count);
    return 0;
}

int fill(nw_run* run) {
    const State& state = *static_cast<const State*>(run->own);
    auto* x = static_cast<double*>(run->buffers[0].data);
    auto* kept = static_cast<double*>(run->buffers[1].data);
    auto* mask = static_cast<std::uint8_t*>(run->buffers[2].data);
    const auto n = static_cast<std::int64_t>(run->buffers[0].count);
    const char* kind = nw_text(run, "mask");
    const bool blocks = kind != nullptr && std::strcmp(kind, "blocks") == 0;
    constexpr std::int64_t kBlock = 64;
    const std::uint64_t start = nw_mix(run->seed);
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t i = 0; i < n; ++i) {
        const std::uint64_t random = nw_mix(start + 3 * static_cast<std::uint64_t>(i));
        const auto chosen = static_cast<std::uint64_t>(blocks ? i / kBlock : i);
        // any byte but 0 is a true one
        mask[i] = nw_uniform(nw_mix(start + 3 * chosen + 1)) < state.density
                      ? static_cast<std::uint8_t>(1 + random % 255)
                      : 0;
        x[i] =
            mask[i] != 0 ? argument(state.function, state.edges, random) : kPoison[state.function][random % kPoisons];
        kept[i] = state.zero ? 0.0 : nw_uniform(nw_mix(start + 3 * static_cast<std::uint64_t>(i) + 2)) - 2;
    }
    return 0;
}

void work(const nw_run* run, nw_work* out) {
    const State& state = *static_cast<const State*>(run->own);
    const auto n = static_cast<double>(run->buffers[0].count);
    out->items = n * static_cast<double>(state.repeats);
    // of those that the mask is expected to choose
    out->flops = kOperations[state.function] * out->items * state.density;
    // what has to come from memory once, however often it is used: for each element its mask, and x or what is kept;
    // a line of x is left alone only where none of its elements is chosen
    out->bytes_read = state.zero && state.density == 0 ? n : 9 * n;
    out->bytes_written = 8 * n;
}

void release(nw_run* run) {
    delete static_cast<State*>(run->own);
    run->own = nullptr;
}

}  // namespace maskmath
