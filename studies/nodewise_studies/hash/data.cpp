// SPDX-License-Identifier: BSD-3-Clause
// The buffers, and the check of their digests.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "study.h"

namespace hash {
namespace {

// Lengths about which something changes: none, one and two blocks, and where the padding needs one more.
constexpr std::uint64_t kEdges[] = {0,   1,   3,   55,  56,  57,  63,  64,  65,  111, 112, 113, 119, 120,
                                    121, 127, 128, 129, 183, 184, 191, 192, 239, 240, 241, 255, 256, 257};
constexpr std::size_t kEdgeCount = sizeof kEdges / sizeof *kEdges;

enum class Lengths { full, mixed, each };

std::uint64_t length_of(Lengths lengths, std::size_t i, std::uint64_t most, std::uint64_t seed) {
    if (lengths != Lengths::mixed) {
        return lengths == Lengths::full ? most : i % (most + 1);
    }
    if (i < kEdgeCount && kEdges[i] <= most) {
        return kEdges[i];
    }
    return nw_random(seed, i) % (most + 1);
}

// What was published for the three letters abc, one digest after the other as Function numbers them.
constexpr const char* kOfAbc[kFunctions] = {
    "900150983cd24fb0d6963f7d28e17f72",
    "a9993e364706816aba3e25717850c26c9cd0d89d",
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    // the concatenation is one digest, too long for a line
    ("ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
     "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"),
};

bool plain_is_right(const Plan& plan) {
    const std::uint8_t abc[] = {'a', 'b', 'c'};
    std::uint8_t digest[kLongestDigest];
    const Job one{abc, sizeof abc, digest};
    hash_jobs(plan, &one, 1);
    std::string written;
    for (std::size_t i = 0; i < shape(plan.function).digest; ++i) {
        written += "0123456789abcdef"[digest[i] >> 4];
        written += "0123456789abcdef"[digest[i] & 15];
    }
    return written == kOfAbc[static_cast<std::size_t>(plan.function)];
}

// The digests by the plain engine, once: the data stay.
int expect(nw_run* run) {
    State& own = state(run);
    const Plan plan = make_plan(own.function, plain_engines(own.function));
    if (!plain_is_right(plan)) {
        return nw_fail(run, "the plain %s of abc is not what was published", shape(own.function).name);
    }
    own.expected.resize(run->buffers[2].count);
    const std::uint8_t* out = digests(run);
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < own.lengths.size(); ++i) {
        Job one = job(run, i);
        one.digest = own.expected.data() + (one.digest - out);
        hash_jobs(plan, &one, 1);
    }
    return 0;
}

}  // namespace

Job job(nw_run* run, std::size_t i) {
    const State& own = state(run);
    return {data(run) + i * own.spacing, own.lengths[i], digests(run) + i * shape(own.function).digest};
}

int layout(nw_run* run) {
    auto own = std::make_unique<State>();
    const char* name = nw_text(run, "function");
    for (std::size_t f = 0; name != nullptr && f < kFunctions; ++f) {
        if (std::strcmp(shape(static_cast<Function>(f)).name, name) == 0) {
            own->function = static_cast<Function>(f);
        }
    }
    const auto most = static_cast<std::uint64_t>(nw_number(run, "chunk-size", 1 << 20));
    const auto total = static_cast<std::uint64_t>(nw_number(run, "total-size", 16 << 20));
    const char* lengths = nw_text(run, "lengths");
    const bool mixed = lengths != nullptr && std::strcmp(lengths, "mixed") == 0;
    const bool each = lengths != nullptr && std::strcmp(lengths, "each") == 0;
    const Lengths how = mixed ? Lengths::mixed : each ? Lengths::each : Lengths::full;
    own->spacing = most;
    for (std::uint64_t begin = 0; begin < total; begin += most) {
        const std::uint64_t room = std::min(most, total - begin);
        own->lengths.push_back(length_of(how, own->lengths.size(), room, run->seed));
    }
    nw_declare(run, "data", NW_U8, NW_INPUT, total);
    nw_declare(run, "lengths", NW_I64, NW_INPUT, own->lengths.size());
    nw_declare(run, "digests", NW_U8, NW_OUTPUT, own->lengths.size() * shape(own->function).digest);
    run->own = own.release();
    return 0;
}

int fill(nw_run* run) {
    const State& own = state(run);
    auto* bytes = static_cast<std::uint8_t*>(run->buffers[0].data);
    const std::uint64_t count = run->buffers[0].count;
#pragma omp parallel for schedule(static)
    for (std::uint64_t i = 0; i < (count + 7) / 8; ++i) {
        const std::uint64_t word = nw_random(run->seed, i);
        std::memcpy(bytes + 8 * i, &word, std::min<std::uint64_t>(8, count - 8 * i));
    }
    std::memcpy(run->buffers[1].data, own.lengths.data(), own.lengths.size() * sizeof own.lengths[0]);
    return 0;
}

int reset(nw_run* run) {
    std::memset(digests(run), 0, run->buffers[2].count);
    return 0;
}

int check(nw_run* run) {
    State& own = state(run);
    if (own.expected.empty() && expect(run) != 0) {
        return 1;
    }
    const std::size_t size = shape(own.function).digest;
    for (std::size_t i = 0; i < own.lengths.size(); ++i) {
        if (std::memcmp(digests(run) + i * size, own.expected.data() + i * size, size) != 0) {
            return nw_fail(run, "the digest of buffer %zu, %llu bytes long, differs from the plain one", i,
                           static_cast<unsigned long long>(job(run, i).size));
        }
    }
    return 0;
}

void work(const nw_run* run, nw_work* out) {
    const auto& lengths = static_cast<const State*>(run->own)->lengths;
    out->items = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0}));
    out->bytes_read = out->items;
    out->bytes_written = static_cast<double>(run->buffers[2].count);
}

void release(nw_run* run) {
    delete static_cast<State*>(run->own);
    run->own = nullptr;
}

}  // namespace hash
