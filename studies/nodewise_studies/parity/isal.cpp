// SPDX-License-Identifier: BSD-3-Clause
// ISA-L: its XOR and its P + Q where the scheme is that, else its erasure code.
#include <dlfcn.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "study.h"

namespace parity {
namespace {

using Generate = int (*)(int vectors, int bytes, void** array);
using Code = void (*)(int bytes, int sources, int outputs, unsigned char* tables, unsigned char** from,
                      unsigned char** into);
using Init = void (*)(int sources, int outputs, unsigned char* coefficients, unsigned char* tables);

template <class Function>
Function find(void* library, const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));  // POSIX lets a function's address travel as a void*
}

// The tables of some coefficients, which are the library's own: what lies in them differs between versions and
// processors.
struct Tables {
    std::vector<unsigned char> coefficients;
    std::size_t sources;
    std::vector<unsigned char> tables;
};
constexpr std::size_t kTableBytes = 32;
// Made before anything is timed; one variant is run in a process.
std::vector<Tables> prepared;

void add_tables(Init init, const std::uint8_t* coefficients, std::size_t sources, std::size_t outputs) {
    std::vector<unsigned char> own(coefficients, coefficients + sources * outputs);
    std::vector<unsigned char> tables(kTableBytes * own.size());
    init(static_cast<int>(sources), static_cast<int>(outputs), own.data(), tables.data());
    prepared.push_back({std::move(own), sources, std::move(tables)});
}

unsigned char* tables_of(const Part& part) {
    const std::size_t count = part.source_count * part.output_count;
    for (Tables& one : prepared) {
        if (one.sources == part.source_count && one.coefficients.size() == count &&
            std::equal(one.coefficients.begin(), one.coefficients.end(), part.coefficients)) {
            return one.tables.data();
        }
    }
    return nullptr;
}

// The library takes whole lines, and lengths as int.
constexpr std::size_t kMost = std::size_t{1} << 30;

// What is no whole line, plainly.
void by_bytes(const Part& part, std::size_t begin, std::size_t end) {
    for (std::size_t o = 0; o < part.output_count; ++o) {
        for (std::size_t at = begin; at < end; ++at) {
            std::uint8_t sum = 0;
            for (std::size_t s = 0; s < part.source_count; ++s) {
                const std::uint8_t* low = part.tables + 32 * (o * part.source_count + s);
                sum ^= static_cast<std::uint8_t>(low[part.sources[s][at] & 15] ^ low[16 + (part.sources[s][at] >> 4)]);
            }
            part.outputs[o][at] = sum;
        }
    }
}

// Calls `generate` for all sources and outputs, from `begin` on, in pieces of whole lines.
template <class Call>
void in_lines(const Part& part, Call call) {
    // xor_gen and pq_gen load whole lines where a line begins; a part begins within one behind a shorter last row
    const std::size_t first = std::min(part.end, Sizes::round_up(part.begin));
    const std::size_t end = first + (part.end - first) / kAlignment * kAlignment;
    by_bytes(part, part.begin, first);
    for (std::size_t begin = first; begin < end; begin += kMost) {
        std::array<void*, 2 * kMostStripes> all{};
        for (std::size_t i = 0; i < part.source_count; ++i) {
            all[i] = const_cast<std::uint8_t*>(part.sources[i]) + begin;
        }
        for (std::size_t i = 0; i < part.output_count; ++i) {
            all[part.source_count + i] = part.outputs[i] + begin;
        }
        call(all.data(), static_cast<int>(std::min(kMost, end - begin)));
    }
    by_bytes(part, end, part.end);
}

void by_code(const Part& part) {
    static const auto kCode = find<Code>(part.library, "ec_encode_data");
    unsigned char* tables = tables_of(part);
    in_lines(part, [&](void** all, int bytes) {
        auto** vectors = reinterpret_cast<unsigned char**>(all);
        kCode(bytes, static_cast<int>(part.source_count), static_cast<int>(part.output_count), tables, vectors,
              vectors + part.source_count);
    });
}

void by_best(const Part& part) {
    static const auto kXor = find<Generate>(part.library, "xor_gen");
    static const auto kPq = find<Generate>(part.library, "pq_gen");
    const auto count = static_cast<int>(part.source_count + part.output_count);
    if (part.form == Form::sum && part.source_count > 1) {
        in_lines(part, [&](void** all, int bytes) { kXor(count, bytes, all); });
    } else if (part.form == Form::sum_and_powers && part.source_count > 1) {
        in_lines(part, [&](void** all, int bytes) { kPq(count, bytes, all); });
    } else {
        by_code(part);
    }
}

}  // namespace

int prepare_isal(nw_run* run) {
    for (const char* name : {"xor_gen", "pq_gen", "ec_encode_data", "ec_init_tables"}) {
        if (dlsym(run->library, name) == nullptr) {
            return nw_fail(run, "the library has no %s", name);
        }
    }
    prepared.clear();
    const auto init = find<Init>(run->library, "ec_init_tables");
    for (const Step& step : state(run).steps) {
        if (!step.vertical) {
            add_tables(init, step.coefficients.data(), step.sources.size(), step.outputs.size());
        }
    }
    // what sums up so many rows of a stripe
    const std::vector<std::uint8_t> ones(kRows, 1);
    for (std::size_t rows = 1; rows <= kRows; ++rows) {
        add_tables(init, ones.data(), rows, 1);
    }
    return 0;
}

int isal(nw_run* run) { return run_steps(run, by_best, nullptr); }

int isal_code(nw_run* run) { return run_steps(run, by_code, nullptr); }

}  // namespace parity
