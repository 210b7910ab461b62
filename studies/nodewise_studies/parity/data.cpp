// SPDX-License-Identifier: BSD-3-Clause
// The stripes, and the check of what was made of them.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "study.h"

namespace parity {
namespace {

// "0,11" as a set of stripes; false for what is none.
bool parse_lost(const char* text, std::size_t stripes, unsigned& lost) {
    while (text != nullptr && *text != '\0') {
        char* end = nullptr;
        const unsigned long number = std::strtoul(text, &end, 10);
        if (end == text || number >= stripes || (*end != ',' && *end != '\0')) {
            return false;
        }
        lost |= 1U << number;
        text = *end == ',' ? end + 1 : end;
    }
    return true;
}

std::size_t parity_spacing(const State& own) { return std::max(own.sizes.spacing(), kRows * own.sizes.row); }

std::uint8_t* bytes(nw_run* run, const char* name) { return static_cast<std::uint8_t*>(nw_data(run, name)); }

// Where each stripe was before any was lost.
std::array<std::uint8_t*, kMostStripes> originals(nw_run* run) {
    const State& own = state(run);
    std::array<std::uint8_t*, kMostStripes> all{};
    for (std::size_t i = 0; i < own.scheme.data + own.scheme.parity; ++i) {
        all[i] = i < own.scheme.data ? bytes(run, "data") + i * own.sizes.spacing()
                                     : bytes(run, "parity") + (i - own.scheme.data) * parity_spacing(own);
    }
    return all;
}

void encode_plainly(const State& own, const std::array<std::uint8_t*, kMostStripes>& stripes) {
    for (const Step& step : encode_steps(own.scheme)) {
        plain_step(step, own.sizes, stripes);
    }
}

int compare(nw_run* run, std::size_t stripe, const std::uint8_t* made, const std::uint8_t* want, std::size_t size) {
    if (std::memcmp(made, want, size) != 0) {
        const auto at = static_cast<std::size_t>(std::mismatch(made, made + size, want).first - made);
        return nw_fail(run, "byte %zu of stripe %zu is %u, not %u", at, stripe, made[at], want[at]);
    }
    return 0;
}

}  // namespace

int layout(nw_run* run) {
    auto own = std::make_unique<State>();
    if (!find_scheme(nw_text(run, "scheme"), own->scheme)) {
        return nw_fail(run, "unknown scheme %s", nw_text(run, "scheme"));
    }
    own->sizes = Sizes(static_cast<std::size_t>(nw_number(run, "stripe", 1 << 20)));
    const char* lost = nw_text(run, "lost");
    if (!parse_lost(lost, own->scheme.data + own->scheme.parity, own->lost)) {
        return nw_fail(run, "lost takes numbers of stripes such as 0,3, data first, not %s", lost);
    }
    own->steps = encode_steps(own->scheme);
    if (own->lost != 0 && !rebuild_steps(own->scheme, own->lost, own->steps)) {
        return nw_fail(run, "the loss of stripes %s is not survived", lost);
    }
    // a run of at least some tenths of a millisecond
    constexpr std::size_t kLeast = 1 << 26;
    const std::size_t once = own->scheme.data * own->sizes.stripe;
    own->passes = static_cast<std::size_t>(nw_number(run, "passes", 0));
    own->passes = own->passes > 0 ? own->passes : std::max<std::size_t>(1, kLeast / once);
    const std::size_t spacing = parity_spacing(*own);
    nw_declare(run, "data", NW_U8, NW_INPUT, own->scheme.data * own->sizes.spacing());
    nw_declare(run, "parity", NW_U8, own->lost == 0 ? NW_OUTPUT : NW_INPUT, own->scheme.parity * spacing);
    if (own->lost != 0) {
        nw_declare(run, "rebuilt", NW_U8, NW_OUTPUT, static_cast<std::size_t>(__builtin_popcount(own->lost)) * spacing);
    }
    run->own = own.release();
    return 0;
}

int fill(nw_run* run) {
    State& own = state(run);
    own.stripes = originals(run);
    std::uint8_t* data = bytes(run, "data");
    const std::size_t words = run->buffers[0].count / 8;
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < words; ++i) {
        const std::uint64_t word = nw_random(run->seed, i);
        std::memcpy(data + 8 * i, &word, 8);
    }
    if (own.lost != 0) {
        std::memset(run->buffers[1].data, 0, run->buffers[1].count);
        encode_plainly(own, own.stripes);
        std::uint8_t* next = bytes(run, "rebuilt");
        for (std::size_t i = 0; i < kMostStripes; ++i) {
            if ((own.lost >> i & 1) != 0) {
                own.stripes[i] = next;
                next += parity_spacing(own);
            }
        }
    }
    return 0;
}

int reset(nw_run* run) {
    const nw_buffer& out = run->buffers[run->buffer_count - 1];
    std::memset(out.data, 0, out.count);
    return 0;
}

int check(nw_run* run) {
    State& own = state(run);
    if (!own.losses_tried && try_losses(run) != 0) {
        return 1;
    }
    own.losses_tried = true;
    const std::size_t spacing = parity_spacing(own);
    auto want = originals(run);
    std::vector<std::uint8_t> again(own.lost == 0 ? own.scheme.parity * spacing : 0, 0);
    if (own.lost == 0) {
        for (std::size_t i = 0; i < own.scheme.parity; ++i) {
            want[own.scheme.data + i] = &again[i * spacing];
        }
        encode_plainly(own, want);
    }
    const std::vector<std::uint8_t> zeros(spacing, 0);
    for (std::size_t i = 0; i < own.scheme.data + own.scheme.parity; ++i) {
        const bool made = own.lost == 0 ? i >= own.scheme.data : (own.lost >> i & 1) != 0;
        const std::size_t size = own.sizes.of(own.scheme, i);
        if (made && (compare(run, i, own.stripes[i], want[i], size) != 0 ||
                     compare(run, i, own.stripes[i] + size, zeros.data(), spacing - size) != 0)) {
            return 1;
        }
    }
    return 0;
}

void work(const nw_run* run, nw_work* out) {
    const State& own = state(run);
    const auto passes = static_cast<double>(own.passes);
    std::size_t written = 0;
    for (std::size_t i = 0; i < own.scheme.data + own.scheme.parity; ++i) {
        const bool made = own.lost == 0 ? i >= own.scheme.data : (own.lost >> i & 1) != 0;
        written += made ? own.sizes.of(own.scheme, i) : 0;
    }
    // as many bytes as there are data have to be read, whatever is made of them
    out->items = passes * static_cast<double>(own.scheme.data * own.sizes.stripe);
    out->bytes_read = out->items;
    out->bytes_written = passes * static_cast<double>(written);
}

void release(nw_run* run) {
    delete static_cast<State*>(run->own);
    run->own = nullptr;
}

}  // namespace parity
