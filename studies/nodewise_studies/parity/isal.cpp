// SPDX-License-Identifier: BSD-3-Clause
// ISA-L: its XOR and its P + Q where the scheme is that, else its erasure code.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "study.h"

namespace parity {
namespace {

using Generate = int (*)(int vectors, int bytes, void** array);
using Code = void (*)(int bytes, int sources, int outputs, unsigned char* tables, unsigned char** from,
                      unsigned char** into);

template <class Function>
Function find(void* library, const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));  // POSIX lets a function's address travel as a void*
}

// The library takes whole lines, and lengths as int.
constexpr std::size_t kMost = std::size_t{1} << 30;

// What is left after whole lines, plainly.
void finish(const Part& part, std::size_t begin) {
    for (std::size_t o = 0; o < part.output_count; ++o) {
        for (std::size_t at = begin; at < part.end; ++at) {
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
    const std::size_t end = part.begin + (part.end - part.begin) / kAlignment * kAlignment;
    for (std::size_t begin = part.begin; begin < end; begin += kMost) {
        std::array<void*, 2 * kMostStripes> all{};
        for (std::size_t i = 0; i < part.source_count; ++i) {
            all[i] = const_cast<std::uint8_t*>(part.sources[i]) + begin;
        }
        for (std::size_t i = 0; i < part.output_count; ++i) {
            all[part.source_count + i] = part.outputs[i] + begin;
        }
        call(all.data(), static_cast<int>(std::min(kMost, end - begin)));
    }
    finish(part, end);
}

void by_code(const Part& part) {
    static const auto kCode = find<Code>(part.library, "ec_encode_data");
    in_lines(part, [&](void** all, int bytes) {
        auto** vectors = reinterpret_cast<unsigned char**>(all);
        kCode(bytes, static_cast<int>(part.source_count), static_cast<int>(part.output_count),
              const_cast<unsigned char*>(part.tables), vectors, vectors + part.source_count);
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

int known(nw_run* run) {
    for (const char* name : {"xor_gen", "pq_gen", "ec_encode_data"}) {
        if (dlsym(run->library, name) == nullptr) {
            return nw_fail(run, "the library has no %s", name);
        }
    }
    return 0;
}

}  // namespace

int isal(nw_run* run) { return known(run) != 0 ? 1 : run_steps(run, by_best, nullptr); }

int isal_code(nw_run* run) { return known(run) != 0 ? 1 : run_steps(run, by_code, nullptr); }

}  // namespace parity
