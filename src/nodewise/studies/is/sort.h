// SPDX-License-Identifier: BSD-3-Clause
// Integer sort as the NAS benchmark IS defines it: the data that every variant works on, and the ten iterations.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
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

struct Release {
    void operator()(void* memory) const { std::free(memory); }
};

enum class Pages { plain, huge };

// Uninitialised memory whose pages belong to who writes them first. Plain pages come through malloc as in any program,
// so that its settings apply; huge ones are asked of the system.
template <typename T>
class Table {
  public:
    Table() = default;
    Table(std::size_t count, Pages pages);
    T* data() { return memory_.get(); }
    [[nodiscard]] std::size_t size() const { return count_; }

  private:
    std::size_t count_ = 0;
    std::unique_ptr<T, Release> memory_;
};

void* table_memory(std::size_t bytes, Pages pages);

template <typename T>
Table<T>::Table(std::size_t count, Pages pages)
    : count_(count), memory_(static_cast<T*>(table_memory(count * sizeof(T), pages))) {}

// What the study keeps between prepare and release.
struct State {
    const Class* published = nullptr;  // null for sizes that are nobody's class
    std::int64_t keys = 0;
    std::int32_t max_key = 0;
    int buckets = 1024;
    std::int64_t seed = 0;
    std::vector<std::int32_t> first;  // the keys that the iterations overwrite
    std::string failure;              // of a partial verification
    // working memory of the variants, made in their first run, which is not timed
    Table<std::int32_t> scattered;
    Table<std::int32_t> counts32;
    Table<std::uint16_t> counts16;
    Table<std::uint8_t> counts8;
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

int bucketed(nw_run* run);
int counting(nw_run* run);
int narrow(nw_run* run);
int read_keys(nw_run* run);

}  // namespace is
