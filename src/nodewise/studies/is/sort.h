// SPDX-License-Identifier: BSD-3-Clause
// Integer sort as the NAS benchmark IS defines it: the data that every variant works on, and the ten iterations.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi/kernel.h"

namespace is {

constexpr int kIterations = 10;
constexpr int kTests = 5;

// A class of the benchmark. After iteration i the key at index[t] has rank rank[t] + sign[t] * (i + shift).
struct Class {
    char name;
    std::int64_t keys;
    std::int32_t max_key;
    int buckets;
    std::int64_t index[kTests];
    std::int64_t rank[kTests];
    int sign[kTests];
    int shift[kTests];
};

// The class of that name, or null.
const Class* find_class(char name);

// What the study keeps between layout and release.
struct State {
    const Class* published = nullptr;  // null for sizes that are nobody's class
    std::int64_t keys = 0;
    std::int32_t max_key = 0;
    int buckets = 1024;
    std::int64_t seed = 0;
    std::vector<std::int32_t> first;  // the keys that the iterations overwrite
    std::string failure;              // of a partial verification
    // working memory of the variants
    std::int32_t* scattered = nullptr;
    void* counters = nullptr;  // threads × max_key, of the variant's own type
    std::vector<std::vector<std::int32_t>> spilled;
    std::vector<std::vector<std::int64_t>> bucket_counts;
    std::vector<std::int64_t> totals;
};

inline State& state(nw_run* run) { return *static_cast<State*>(run->own); }
inline std::int32_t* keys(nw_run* run) { return static_cast<std::int32_t*>(run->buffers[0].data); }
// ranks[k]: how many keys are k or less.
inline std::int32_t* ranks(nw_run* run) { return static_cast<std::int32_t*>(run->buffers[1].data); }

// The timed part: before each iteration two keys change, then all are ranked by `rank`, then five ranks are compared.
int iterate(nw_run* run, void (*rank)(nw_run*));

int prepare_bucketed(nw_run* run);
int bucketed(nw_run* run);
int prepare_counting(nw_run* run);
int counting(nw_run* run);
int prepare_narrow(nw_run* run);
int narrow(nw_run* run);
int read_keys(nw_run* run);

}  // namespace is
