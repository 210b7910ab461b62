// SPDX-License-Identifier: BSD-3-Clause
#include "operator.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>

#include "abi/parts.h"

namespace krylov {
namespace {

int rank_of(const Problem& p, int ranks, std::int64_t row) {
    int low = 0;
    int high = ranks - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (static_cast<std::int64_t>(nw_begin(static_cast<std::uint64_t>(p.whole), middle, ranks)) <= row) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

// Columns that are not of this rank, ascending, each once.
std::vector<std::int32_t> others(const Problem& p, std::int64_t entries) {
    std::vector<std::int32_t> found;
    for (std::int64_t k = 0; k < entries; ++k) {
        if (p.columns[k] < p.first || p.columns[k] >= p.first + p.n) {
            found.push_back(p.columns[k]);
        }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

}  // namespace

Halo::Halo(nw_run* run, const Problem& p, const std::vector<std::int32_t>& ghosts) {
    std::vector<std::int64_t> begins(static_cast<std::size_t>(run->ranks) + 1, 0);
    for (const std::int32_t ghost : ghosts) {
        ++begins[static_cast<std::size_t>(rank_of(p, run->ranks, ghost)) + 1];
    }
    for (std::size_t r = 1; r < begins.size(); ++r) {
        begins[r] += begins[r - 1];
    }
    for (int shift = 1; shift < run->ranks; ++shift) {
        const int ahead = (run->rank + shift) % run->ranks;
        const int behind = (run->rank - shift + run->ranks) % run->ranks;
        // asked of the one behind, whose elements will come from there; the one ahead asks for its own
        const auto at = static_cast<std::size_t>(behind);
        Step step{ahead, behind, {}, begins[at], begins[at + 1] - begins[at]};
        std::int64_t asked = 0;
        run->exchange(run, &step.count, sizeof step.count, behind, &asked, sizeof asked, ahead);
        step.wanted.resize(static_cast<std::size_t>(asked));
        run->exchange(run, ghosts.data() + step.begin, static_cast<std::size_t>(step.count) * sizeof(std::int32_t),
                      step.count > 0 ? behind : NW_NOBODY, step.wanted.data(),
                      step.wanted.size() * sizeof(std::int32_t), asked > 0 ? ahead : NW_NOBODY);
        for (std::int32_t& row : step.wanted) {
            row -= static_cast<std::int32_t>(p.first);
        }
        if (step.count > 0 || asked > 0) {
            packed_.resize(std::max(packed_.size(), step.wanted.size()));
            steps_.push_back(std::move(step));
        }
    }
}

void Halo::refresh(nw_run* run, double* vector, std::int64_t n) {
    if (steps_.empty()) {
        return;
    }
    const auto begin = std::chrono::steady_clock::now();
    for (const Step& step : steps_) {
        for (std::size_t i = 0; i < step.wanted.size(); ++i) {
            packed_[i] = vector[step.wanted[i]];
        }
        run->exchange(run, packed_.data(), step.wanted.size() * sizeof(double),
                      step.wanted.empty() ? static_cast<int>(NW_NOBODY) : step.to, vector + n + step.begin,
                      static_cast<std::size_t>(step.count) * sizeof(double),
                      step.count == 0 ? static_cast<int>(NW_NOBODY) : step.from);
    }
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Operator::Operator(nw_run* run, const Problem& p) : rows_(p.n), values_(p.values) {
    begins_.resize(static_cast<std::size_t>(rows_) + 1);
    std::int64_t entries = 0;
    for (std::int64_t i = 0; i < rows_; ++i) {
        begins_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(entries);
        entries += p.counts[i];
    }
    if (entries > std::numeric_limits<std::int32_t>::max()) {
        throw std::runtime_error("a rank has more than 2^31 entries\nhint: give more ranks");
    }
    begins_[static_cast<std::size_t>(rows_)] = static_cast<std::int32_t>(entries);
    const std::vector<std::int32_t> ghosts = others(p, entries);
    ghosts_ = static_cast<std::int64_t>(ghosts.size());
    columns_ = static_cast<std::int32_t*>(
        run->memory(run, std::max<std::size_t>(1, static_cast<std::size_t>(entries)) * sizeof(std::int32_t), NW_HUGE));
    if (columns_ == nullptr) {
        throw std::runtime_error(run->error);
    }
    nw::on_parts(run, rows_, [&](int, std::int64_t from, std::int64_t to) {
        for (std::int64_t k = begins_[static_cast<std::size_t>(from)]; k < begins_[static_cast<std::size_t>(to)]; ++k) {
            const std::int32_t column = p.columns[k];
            if (column >= p.first && column < p.first + p.n) {
                columns_[k] = column - static_cast<std::int32_t>(p.first);
            } else {
                const auto place = std::lower_bound(ghosts.begin(), ghosts.end(), column) - ghosts.begin();
                columns_[k] = static_cast<std::int32_t>(rows_ + place);
            }
        }
    });
    halo_ = Halo(run, p, ghosts);
}

void Operator::multiply(const double* z, double* w, std::int64_t begin, std::int64_t end) const {
    const std::int32_t* starts = begins_.data();
    for (std::int64_t i = begin; i < end; ++i) {
        double even = 0;
        double odd = 0;
        std::int32_t k = starts[i];
        const std::int32_t last = starts[i + 1];
        for (; k + 1 < last; k += 2) {
            even += values_[k] * z[columns_[k]];
            odd += values_[k + 1] * z[columns_[k + 1]];
        }
        if (k < last) {
            even += values_[k] * z[columns_[k]];
        }
        w[i - begin] = even + odd;
    }
}

}  // namespace krylov
