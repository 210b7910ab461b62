// SPDX-License-Identifier: BSD-3-Clause
// A row for each library and level, named by both.
#include <string>
#include <utility>
#include <vector>

#include "study.h"

namespace {

using compress::Library;

struct Family {
    const char* name;  // as study.py knows the library, and the start of its rows' names
    nw_kind kind;
};

constexpr Family kIsal{"isal", NW_VARIANT}, kZlib{"zlib", NW_VARIANT}, kZlibNg{"zlib-ng", NW_PEER};
constexpr Family kLibdeflate{"libdeflate", NW_PEER}, kZstd{"zstd", NW_PEER}, kLz4{"lz4", NW_PEER};

template <Library library, int level>
int prepare(nw_run* run) {
    return compress::open_codecs(run, library, level);
}

// The levels from 1 on.
template <int... zero_based>
constexpr auto shifted(std::integer_sequence<int, zero_based...> /*levels*/) {
    return std::integer_sequence<int, (zero_based + 1)...>();
}

template <int most>
constexpr auto from_one() {
    return shifted(std::make_integer_sequence<int, most>());
}

// The names of the rows and the rows, which point to them.
class Table {
  public:
    Table() {
        // no name moves once a row points to it
        names_.reserve(kMost);
        add<Library::kIsal, compress::kSemiDynamic>(kIsal);
        add_levels<Library::kIsal>(kIsal, std::integer_sequence<int, 0, 1, 2, 3>());
        add_levels<Library::kZlib>(kZlib, from_one<9>());
        add_levels<Library::kZlibNg>(kZlibNg, from_one<9>());
        add_levels<Library::kLibdeflate>(kLibdeflate, from_one<12>());
        add_levels<Library::kZstd>(kZstd, from_one<19>());
        add_levels<Library::kLz4>(kLz4, std::integer_sequence<int, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>());
        study_ = {
            .abi = NW_ABI,
            .name = "compress",
            .layout = compress::layout,
            .fill = compress::fill,
            .check = compress::check,
            .work = compress::work,
            .release = compress::release,
            .variants = variants_.data(),
            .variant_count = variants_.size(),
        };
    }

    [[nodiscard]] const nw_study* study() const { return &study_; }

  private:
    static constexpr std::size_t kMost = 128;

    template <Library library, int... levels>
    void add_levels(const Family& family, std::integer_sequence<int, levels...> /*levels*/) {
        (add<library, levels>(family), ...);
    }

    template <Library library, int level>
    void add(const Family& family) {
        const std::string of = level == compress::kSemiDynamic ? "semi" : std::to_string(level);
        names_.push_back(std::string(family.name) + "-" + of);
        variants_.push_back({.name = names_.back().c_str(),
                             .kind = family.kind,
                             .run = compress::round_trip,
                             .prepare = prepare<library, level>,
                             .library = family.name});
    }

    std::vector<std::string> names_;
    std::vector<nw_variant> variants_;
    nw_study study_{};
};

}  // namespace

const nw_study* nodewise_study(void) {
    static const Table table;
    return table.study();
}
