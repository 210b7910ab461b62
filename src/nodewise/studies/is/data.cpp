// SPDX-License-Identifier: BSD-3-Clause
// The benchmark's definition: classes, the generator, the two keys that change, and both verifications.
#include <algorithm>
#include <array>
#include <string>

#include "sort.h"
#include "study.h"

namespace is {
namespace {

// Sizes, indexes and ranks as published for the NAS Parallel Benchmarks, IS.
constexpr std::array<Class, 6> kClasses{{
    {'S',
     1 << 16,
     1 << 11,
     1 << 9,
     {48427, 17148, 23627, 62548, 4431},
     {0, 18, 346, 64917, 65463},
     {1, 1, 1, -1, -1},
     {0, 0, 0, 0, 0}},
    {'W',
     1 << 20,
     1 << 16,
     1 << 10,
     {357773, 934767, 875723, 898999, 404505},
     {1249, 11698, 1039987, 1043896, 1048018},
     {1, 1, -1, -1, -1},
     {-2, -2, 0, 0, 0}},
    {'A',
     1 << 23,
     1 << 19,
     1 << 10,
     {2112377, 662041, 5336171, 3642833, 4250760},
     {104, 17523, 123928, 8288932, 8388264},
     {1, 1, 1, -1, -1},
     {-1, -1, -1, -1, -1}},
    {'B',
     1 << 25,
     1 << 21,
     1 << 10,
     {41869, 812306, 5102857, 18232239, 26860214},
     {33422937, 10244, 59149, 33135281, 99},
     {-1, 1, 1, -1, 1},
     {0, 0, 0, 0, 0}},
    {'C',
     1 << 27,
     1 << 23,
     1 << 10,
     {44172927, 72999161, 74326391, 129606274, 21736814},
     {61147, 882988, 266290, 133997595, 133525895},
     {1, 1, 1, -1, -1},
     {0, 0, 0, 0, 0}},
    // for the largest class no ranks are at hand: it is checked by counting alone
    {'D', std::int64_t{1} << 31, 1 << 27, 1 << 10, {-1, -1, -1, -1, -1}, {}, {}, {}},
}};

constexpr std::uint64_t kModulus = std::uint64_t{1} << 46;
constexpr std::uint64_t kMultiplier = 1220703125;  // 5^13
constexpr std::uint64_t kSeed = 314159265;

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) { return (a * b) & (kModulus - 1); }

// The generator's state `steps` steps after `from`.
std::uint64_t jump(std::uint64_t from, std::uint64_t steps) {
    std::uint64_t factor = kMultiplier;
    for (; steps > 0; steps /= 2, factor = multiply(factor, factor)) {
        if (steps % 2 == 1) {
            from = multiply(from, factor);
        }
    }
    return from;
}

void compare_ranks(State& own, const std::int32_t* all_ranks, const std::array<std::int32_t, kTests>& tested, int i) {
    const Class& published = *own.published;
    for (int t = 0; t < kTests; ++t) {
        const std::int32_t key = tested[static_cast<std::size_t>(t)];
        if (key < 1 || key >= own.max_key) {
            continue;
        }
        const std::int64_t want = published.rank[t] + std::int64_t{published.sign[t]} * (i + published.shift[t]);
        const std::int64_t got = all_ranks[key - 1];
        if (got != want && own.failure.empty()) {
            own.failure = "iteration " + std::to_string(i) + ": key " + std::to_string(key) + " has rank " +
                          std::to_string(got) + ", published is " + std::to_string(want);
        }
    }
}

// The two keys that differ in iteration i.
void change(const State& own, std::int32_t* all, int i) {
    if (i < own.keys) {
        all[i] = std::min(i, own.max_key - 1);
    }
    if (i + kIterations < own.keys) {
        all[i + kIterations] = std::max(own.max_key - i, 0);
    }
}

}  // namespace

const Class* find_class(char name) {
    const auto* found = std::find_if(kClasses.begin(), kClasses.end(), [&](const Class& c) { return c.name == name; });
    return found == kClasses.end() ? nullptr : found;
}

int layout(nw_run* run) {
    const char* name = nw_text(run, "class");
    const Class* published = find_class(name != nullptr ? name[0] : 'B');
    if (published == nullptr) {
        return nw_fail(run, "unknown class %s; there are S, W, A, B, C, D", name);
    }
    auto own = std::make_unique<State>();
    own->keys = static_cast<std::int64_t>(nw_number(run, "keys", static_cast<double>(published->keys)));
    own->max_key = static_cast<std::int32_t>(nw_number(run, "max_key", published->max_key));
    own->buckets = published->buckets;
    const bool custom = nw_text(run, "keys") != nullptr || nw_text(run, "max_key") != nullptr;
    own->published = custom || run->seed != 0 || published->index[0] < 0 ? nullptr : published;
    nw_declare(run, "keys", NW_I32, NW_INPUT, static_cast<std::uint64_t>(own->keys));
    nw_declare(run, "ranks", NW_I32, NW_OUTPUT, static_cast<std::uint64_t>(own->max_key));
    run->own = own.release();
    return 0;
}

int fill(nw_run* run) {
    State& own = state(run);
    std::int32_t* all = keys(run);
    const std::uint64_t seed = (kSeed + 2 * run->seed) & (kModulus - 1);
    constexpr std::int64_t kChunk = 1 << 14;
    const double quarter = own.max_key / 4.0;
#pragma omp parallel for schedule(static)
    for (std::int64_t begin = 0; begin < own.keys; begin += kChunk) {
        std::uint64_t x = jump(seed, static_cast<std::uint64_t>(begin) * 4);
        const std::int64_t end = std::min(own.keys, begin + kChunk);
        for (std::int64_t i = begin; i < end; ++i) {
            double sum = 0;
            for (int k = 0; k < 4; ++k) {
                x = multiply(x, kMultiplier);
                sum += static_cast<double>(x) * 0x1p-46;
            }
            all[i] = static_cast<std::int32_t>(quarter * sum);
        }
    }
    own.first.assign(all, all + std::min<std::int64_t>(own.keys, std::int64_t{2} * kIterations + 1));
    return 0;
}

int reset(nw_run* run) {
    std::copy(state(run).first.begin(), state(run).first.end(), keys(run));
    state(run).failure.clear();
    return 0;
}

int iterate(nw_run* run, void (*rank)(nw_run*)) {
    State& own = state(run);
    std::int32_t* all = keys(run);
    for (int i = 1; i <= kIterations; ++i) {
        change(own, all, i);
        std::array<std::int32_t, kTests> tested{};
        for (int t = 0; own.published != nullptr && t < kTests; ++t) {
            tested[static_cast<std::size_t>(t)] = all[own.published->index[t]];
        }
        rank(run);
        if (own.published != nullptr) {
            compare_ranks(own, ranks(run), tested, i);
        }
    }
    return 0;
}

int check(nw_run* run) {
    State& own = state(run);
    if (!own.failure.empty()) {
        return nw_fail(run, "%s", own.failure.c_str());
    }
    // counted once more, plainly: rank k must be the number of keys up to k, which also means that placing the keys by
    // their ranks gives them in order, each once
    std::vector<std::int32_t> count(static_cast<std::size_t>(own.max_key), 0);
    std::int32_t* all = keys(run);
    for (int i = 1; i <= kIterations; ++i) {
        change(own, all, i);  // where the ranks are a peer's, its keys were changed and not these
    }
    for (std::int64_t i = 0; i < own.keys; ++i) {
        ++count[static_cast<std::size_t>(all[i])];
    }
    std::int64_t up_to = 0;
    for (std::int32_t k = 0; k < own.max_key; ++k) {
        up_to += count[static_cast<std::size_t>(k)];
        if (ranks(run)[k] != static_cast<std::int32_t>(up_to)) {
            return nw_fail(run, "rank of key %d is %d, not %lld", k, ranks(run)[k], static_cast<long long>(up_to));
        }
    }
    return 0;
}

void work(const nw_run* run, nw_work* out) {
    const State& own = *static_cast<const State*>(run->own);
    const double all = static_cast<double>(own.keys) * kIterations;
    // every key must be read once an iteration, every rank written once
    out->items = all;
    out->bytes_read = 4 * all;
    out->bytes_written = 4.0 * own.max_key * kIterations;
}

void release(nw_run* run) {
    delete static_cast<State*>(run->own);
    run->own = nullptr;
}

}  // namespace is
