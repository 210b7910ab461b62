// SPDX-License-Identifier: BSD-3-Clause
// Which losses a scheme survives: each set of stripes up to one more than there are parities is lost from a small copy,
// rebuilt and compared; for the XOR scheme also each stripe together with one row of another, as when a disk has a bad
// sector while another one is rebuilt.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "study.h"

namespace parity {
namespace {

constexpr std::size_t kSmall = kRows * kAlignment;

struct Copy {
    std::array<std::array<std::uint8_t, kSmall>, kMostStripes> bytes;
    std::array<std::uint8_t*, kMostStripes> stripes() {
        std::array<std::uint8_t*, kMostStripes> all{};
        for (std::size_t i = 0; i < kMostStripes; ++i) {
            all[i] = bytes[i].data();
        }
        return all;
    }
};

// Which rows of each stripe are there.
using Rows = std::array<unsigned, kMostStripes>;
constexpr unsigned kAllRows = (1U << kRows) - 1;

void forget(Copy& copy, const Rows& there) {
    for (std::size_t i = 0; i < kMostStripes; ++i) {
        for (std::size_t r = 0; r < kRows; ++r) {
            if ((there[i] >> r & 1) == 0) {
                std::memset(&copy.bytes[i][r * kAlignment], 0xee, kAlignment);
            }
        }
    }
}

struct Row {
    std::size_t stripe;
    std::size_t row;
};

// Every row is in one or two sums that are zero: that across the stripes, and that down its stripe. Where one row of a
// sum is missing it is the sum of the others; until nothing changes.
std::array<std::vector<Row>, 2 * kRows> sums() {
    std::array<std::vector<Row>, 2 * kRows> all;
    for (std::size_t i = 0; i < kRows; ++i) {
        for (std::size_t r = 0; r < kRows; ++r) {
            all[r].push_back({i, r});
            all[kRows + i].push_back({i, r});
        }
        all[kRows + i].push_back({kRows + 1, i});
        all[i].push_back({kRows, i});
    }
    return all;
}

void rebuild_rows(Copy& copy, Rows there) {
    static const auto kSums = sums();
    for (bool changed = true; changed;) {
        changed = false;
        for (const std::vector<Row>& sum : kSums) {
            std::size_t missing = 0;
            Row lost{};
            for (const Row& row : sum) {
                if ((there[row.stripe] >> row.row & 1) == 0) {
                    lost = row;
                    ++missing;
                }
            }
            if (missing != 1) {
                continue;
            }
            std::uint8_t* into = &copy.bytes[lost.stripe][lost.row * kAlignment];
            std::memset(into, 0, kAlignment);
            for (const Row& row : sum) {
                if (row.stripe == lost.stripe && row.row == lost.row) {
                    continue;
                }
                const std::uint8_t* from = &copy.bytes[row.stripe][row.row * kAlignment];
                for (std::size_t b = 0; b < kAlignment; ++b) {
                    into[b] ^= from[b];
                }
            }
            there[lost.stripe] |= 1U << lost.row;
            changed = true;
        }
    }
}

bool same(const Copy& a, const Copy& b, std::size_t stripes) {
    return std::memcmp(a.bytes.data(), b.bytes.data(), stripes * kSmall) == 0;
}

bool survives(const Scheme& scheme, const Copy& whole, unsigned lost) {
    Rows there{};
    for (std::size_t i = 0; i < kMostStripes; ++i) {
        there[i] = (lost >> i & 1) != 0 ? 0 : kAllRows;
    }
    Copy copy = whole;
    forget(copy, there);
    if (scheme.kind == Kind::xor2) {
        rebuild_rows(copy, there);
    } else {
        std::vector<Step> steps;
        const bool can = rebuild_steps(scheme, lost, steps);
        for (const Step& step : steps) {
            if (can) {
                plain_step(step, Sizes(kSmall), copy.stripes());
            }
        }
    }
    return same(copy, whole, scheme.data + scheme.parity);
}

// Losses of a stripe and a row of another that are survived, in hundredths of all.
double with_a_row(const Copy& whole) {
    double tried = 0;
    double survived = 0;
    for (std::size_t stripe = 0; stripe < kMostStripes; ++stripe) {
        for (std::size_t row = 0; row < kMostStripes * kRows; ++row) {
            if (row / kRows == stripe) {
                continue;
            }
            Rows there{};
            there.fill(kAllRows);
            there[stripe] = 0;
            there[row / kRows] &= ~(1U << row % kRows);
            Copy copy = whole;
            forget(copy, there);
            rebuild_rows(copy, there);
            tried += 1;
            survived += same(copy, whole, kMostStripes) ? 1 : 0;
        }
    }
    return 100 * survived / tried;
}

}  // namespace

int try_losses(nw_run* run) {
    static const char* const kSurvived[] = {"", "survived_1", "survived_2", "survived_3", "survived_4"};
    static const char* const kTried[] = {"", "tried_1", "tried_2", "tried_3", "tried_4"};
    const Scheme& scheme = state(run).scheme;
    const std::size_t stripes = scheme.data + scheme.parity;
    Copy whole{};
    const auto* data = static_cast<const std::uint8_t*>(run->buffers[0].data);
    for (std::size_t i = 0; i < scheme.data * kSmall; ++i) {
        whole.bytes[i / kSmall][i % kSmall] =
            static_cast<std::uint8_t>(data[i % run->buffers[0].count] + 31 * i + (i >> 7));
    }
    for (const Step& step : encode_steps(scheme)) {
        plain_step(step, Sizes(kSmall), whole.stripes());
    }
    std::array<double, kMostStripes + 1> survived{};
    std::array<double, kMostStripes + 1> tried{};
    for (unsigned lost = 0; lost < 1U << stripes; ++lost) {
        const auto count = static_cast<std::size_t>(__builtin_popcount(lost));
        tried[count] += 1;
        // more than there are parities and one cannot come back
        if (count <= scheme.parity + 1 && survives(scheme, whole, lost)) {
            survived[count] += 1;
        }
    }
    const double failure = nw_number(run, "failure", 1) / 100;
    double loss = 0;
    std::size_t tolerated = 0;
    for (std::size_t k = 0; k <= stripes; ++k) {
        loss += (tried[k] - survived[k]) * std::pow(failure, static_cast<double>(k)) *
                std::pow(1 - failure, static_cast<double>(stripes - k));
        tolerated += k > 0 && tolerated == k - 1 && survived[k] == tried[k] ? 1 : 0;
        if (k > 0 && k <= scheme.parity + 1) {
            nw_report(run, kSurvived[k], survived[k]);
            nw_report(run, kTried[k], tried[k]);
        }
    }
    std::size_t extra = 0;
    for (std::size_t i = scheme.data; i < stripes; ++i) {
        extra += state(run).sizes.of(scheme, i);
    }
    nw_report(run, "tolerated", static_cast<double>(tolerated));
    nw_report(run, "loss_probability", loss);
    nw_report(run, "overhead_percent",
              100 * static_cast<double>(extra) / static_cast<double>(scheme.data * state(run).sizes.stripe));
    if (scheme.kind == Kind::xor2) {
        nw_report(run, "stripe_and_row_percent", with_a_row(whole));
    }
    return 0;
}

}  // namespace parity
