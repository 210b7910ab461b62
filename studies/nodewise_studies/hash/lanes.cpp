// SPDX-License-Identifier: BSD-3-Clause
// Many buffers at once: lane i of each vector is buffer i's word.
// vectors whose size is known when this is compiled: arrays of them stay in registers
#include "simd/fixed_width.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lanes.cpp"
#include "hwy/foreach_target.h"
// what is included above and below has to come in this order
#include "engine.h"
#include "hwy/highway.h"
#include "rounds-inl.h"
#include "words-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hash {
namespace HWY_NAMESPACE {

template <template <std::size_t> class F, std::size_t kGroups>
void run_blocks(void* state, const std::uint8_t* const* data, std::size_t blocks) {
    using Rounds = F<kGroups>;
    using D = typename Rounds::D;
    using V = hn::VFromD<D>;
    constexpr std::size_t kLanes = hn::MaxLanes(D());
    constexpr std::size_t kBytes = 16 * sizeof(hn::TFromD<D>);
    const D d;
    auto* columns = static_cast<hn::TFromD<D>*>(state);
    V kept[kGroups][Rounds::kWords];
    for (std::size_t g = 0; g < kGroups; ++g) {
        for (std::size_t i = 0; i < Rounds::kWords; ++i) {
            kept[g][i] = hn::LoadU(d, columns + i * kColumns + g * kLanes);
        }
    }
    V loaded[kGroups][16];
    for (std::size_t q = 0; q < 4; ++q) {
        Ahead<Rounds, kGroups>{data, 0, loaded}.quarter(q);
    }
    for (std::size_t block = 0; block < blocks; ++block) {
        V words[kGroups][16];
        V next[kGroups][Rounds::kWords];
        for (std::size_t g = 0; g < kGroups; ++g) {
            for (std::size_t i = 0; i < 16; ++i) {
                words[g][i] = loaded[g][i];
            }
            for (std::size_t i = 0; i < Rounds::kWords; ++i) {
                next[g][i] = kept[g][i];
            }
        }
        // after the last block there may be nothing: it is loaded once more
        const std::size_t ahead = block + 1 < blocks ? block + 1 : block;
        Rounds::rounds(next, words, Ahead<Rounds, kGroups>{data, ahead * kBytes, loaded});
        for (std::size_t g = 0; g < kGroups; ++g) {
            for (std::size_t i = 0; i < Rounds::kWords; ++i) {
                kept[g][i] = hn::Add(kept[g][i], next[g][i]);
            }
        }
    }
    for (std::size_t g = 0; g < kGroups; ++g) {
        for (std::size_t i = 0; i < Rounds::kWords; ++i) {
            hn::StoreU(kept[g][i], d, columns + i * kColumns + g * kLanes);
        }
    }
}

template <std::size_t kGroups>
using Sha256 = Sha2<Bits256, kGroups>;
template <std::size_t kGroups>
using Sha512 = Sha2<Bits512, kGroups>;

// Writes at most two engines, and says how many. MD5 waits for its own steps so long that two vectors are better than
// one; the others' steps fill the processor.
std::size_t engines(Function function, Engine* into) {
    constexpr std::size_t k32 = hn::MaxLanes(D32());
    constexpr std::size_t k64 = hn::MaxLanes(D64());
    std::size_t count = 0;
    switch (function) {
        case Function::md5:
            into[count++] = {k32, run_blocks<Md5, 1>};
            into[count++] = {2 * k32, run_blocks<Md5, 2>};
            break;
        case Function::sha1:
            into[count++] = {k32, run_blocks<Sha1, 1>};
            break;
        case Function::sha256:
            into[count++] = {k32, run_blocks<Sha256, 1>};
            break;
        case Function::sha512:
            into[count++] = {k64, run_blocks<Sha512, 1>};
            break;
    }
    return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace hash
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hash {

HWY_EXPORT(engines);

std::vector<Engine> lane_engines(Function function) {
    std::vector<Engine> all(2);
    all.resize(HWY_DYNAMIC_DISPATCH(engines)(function, all.data()));
    return all;
}

}  // namespace hash
#endif  // HWY_ONCE
