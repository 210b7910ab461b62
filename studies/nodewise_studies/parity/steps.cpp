// SPDX-License-Identifier: BSD-3-Clause
// Steps shared out among threads, and what a vertical step is made of.
#include <algorithm>

#include "study.h"

namespace parity {
namespace {

// What sums up the rows of one stripe.
struct Sum {
    std::array<std::uint8_t, kRows> coefficients;
    std::array<std::uint8_t, 32 * kRows> tables;
};

constexpr Sum plain_sum() {
    Sum sum{};
    for (std::size_t i = 0; i < sum.tables.size(); ++i) {
        sum.tables[i] = static_cast<std::uint8_t>(i % 32 < 16 ? i % 16 : i % 16 << 4);
    }
    sum.coefficients.fill(1);
    return sum;
}

constexpr Sum kSum = plain_sum();

struct Range {
    std::size_t begin;
    std::size_t end;
};

// Thread t's part of so many bytes, in whole lines.
Range part_of(std::size_t bytes, int t, int threads) {
    const std::size_t lines = (bytes + kAlignment - 1) / kAlignment;
    const auto at = [&](int i) {
        return std::min(bytes, lines * static_cast<std::size_t>(i) / static_cast<std::size_t>(threads) * kAlignment);
    };
    return {at(t), at(t + 1)};
}

void combine_linear(const Step& step, const std::array<std::uint8_t*, kMostStripes>& stripes, Range range,
                    Combine combine, void* library) {
    std::array<const std::uint8_t*, kMostStripes> sources{};
    std::array<std::uint8_t*, kMostStripes> outputs{};
    std::transform(step.sources.begin(), step.sources.end(), sources.begin(),
                   [&](std::size_t i) { return stripes[i]; });
    std::transform(step.outputs.begin(), step.outputs.end(), outputs.begin(),
                   [&](std::size_t i) { return stripes[i]; });
    combine({sources.data(), step.sources.size(), outputs.data(), step.outputs.size(), step.coefficients.data(),
             step.tables.data(), step.matrices.data(), step.form, range.begin, range.end, library});
}

// Bytes `range` of each block of the vertical parity. The last row may be shorter than the others.
void combine_vertical(const Step& step, const Sizes& sizes, const std::array<std::uint8_t*, kMostStripes>& stripes,
                      Range range, Combine combine, void* library) {
    const std::size_t whole = std::clamp(sizes.last(), range.begin, range.end);
    for (std::size_t i = 0; i < kRows; ++i) {
        std::array<const std::uint8_t*, kRows> rows{};
        for (std::size_t r = 0; r < sizes.rows; ++r) {
            rows[r] = stripes[i] + r * sizes.row;
        }
        std::uint8_t* out = stripes[step.outputs[0]] + i * sizes.row;
        const auto add_up = [&](std::size_t count, std::size_t begin, std::size_t end) {
            if (begin < end && count > 0) {
                combine({rows.data(), count, &out, 1, kSum.coefficients.data(), kSum.tables.data(), nullptr, Form::sum,
                         begin, end, library});
            }
        };
        add_up(sizes.rows, range.begin, whole);
        add_up(sizes.rows - 1, whole, range.end);
    }
}

void plainly(const Part& part) {
    for (std::size_t o = 0; o < part.output_count; ++o) {
        for (std::size_t at = part.begin; at < part.end; ++at) {
            part.outputs[o][at] = 0;
        }
        for (std::size_t s = 0; s < part.source_count; ++s) {
            const std::uint8_t* low = part.tables + 32 * (o * part.source_count + s);
            const std::uint8_t* from = part.sources[s];
            std::uint8_t* into = part.outputs[o];
            if (part.coefficients[o * part.source_count + s] == 1) {
                for (std::size_t at = part.begin; at < part.end; ++at) {
                    into[at] ^= from[at];
                }
            } else {
                for (std::size_t at = part.begin; at < part.end; ++at) {
                    into[at] ^= static_cast<std::uint8_t>(low[from[at] & 15] ^ low[16 + (from[at] >> 4)]);
                }
            }
        }
    }
}

// A stripe across and the vertical parity, in bytes `range` of each row.
Both both_of(const State& own, Range range) {
    const Step& across = own.steps[0];
    const std::size_t made = across.outputs[0];
    Both both{{}, own.stripes[made], {}, made < kRows, &own.sizes, range.begin, range.end};
    for (std::size_t i = 0; i < kRows; ++i) {
        const std::size_t source = across.sources[i];
        // the horizontal parity, the last of the sources, has no block: there the stripe that comes back has its own
        const std::size_t block = source < kRows ? source : made;
        both.sources[i] = own.stripes[source];
        both.blocks[i] = own.stripes[kRows + 1] + block * own.sizes.row;
    }
    return both;
}

}  // namespace

void plain_step(const Step& step, const Sizes& sizes, const std::array<std::uint8_t*, kMostStripes>& stripes) {
    // pieces of a stripe that the nearest caches hold with all the others
    constexpr std::size_t kPiece = 1 << 12;
    const std::size_t bytes = step.vertical ? sizes.row : sizes.stripe;
#pragma omp parallel for schedule(static) if (bytes > kPiece)
    for (std::size_t begin = 0; begin < bytes; begin += kPiece) {
        const Range range{begin, std::min(bytes, begin + kPiece)};
        if (step.vertical) {
            combine_vertical(step, sizes, stripes, range, plainly, nullptr);
        } else {
            combine_linear(step, stripes, range, plainly, nullptr);
        }
    }
}

int run_steps(nw_run* run, Combine combine, CombineBoth both) {
    const State& own = state(run);
    // else the data would be read twice
    const bool at_once = both != nullptr && own.steps.size() == 2;
#pragma omp parallel for schedule(static, 1) num_threads(run->threads)
    for (int t = 0; t < run->threads; ++t) {
        const Range whole = part_of(own.sizes.stripe, t, run->threads);
        const Range row = part_of(own.sizes.row, t, run->threads);
        for (std::size_t pass = 0; pass < own.passes; ++pass) {
            if (at_once) {
                both(both_of(own, row));
                continue;
            }
            for (const Step& step : own.steps) {
                if (step.vertical) {
                    continue;
                }
                combine_linear(step, own.stripes, whole, combine, run->library);
            }
        }
    }
    if (at_once) {
        return 0;
    }
    // after all data are there: a vertical parity may be that of a stripe which another thread brought back
    for (const Step& step : own.steps) {
        if (!step.vertical) {
            continue;
        }
#pragma omp parallel for schedule(static, 1) num_threads(run->threads)
        for (int t = 0; t < run->threads; ++t) {
            for (std::size_t pass = 0; pass < own.passes; ++pass) {
                combine_vertical(step, own.sizes, own.stripes, part_of(own.sizes.row, t, run->threads), combine,
                                 run->library);
            }
        }
    }
    return 0;
}

}  // namespace parity
