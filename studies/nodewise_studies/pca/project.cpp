// SPDX-License-Identifier: BSD-3-Clause
// Rows in terms of the first components: their deviations from the means, scaled as the method has it, along each axis.
#include <algorithm>

#include "pca.h"
#include "source.h"

namespace pca {
namespace {

// Rows of the block, from `begin` to before `end`, along the axes of `along` (`kept` rows, already scaled).
void project_rows(const Block& block, const std::vector<double>& mean, const std::vector<double>& along,
                  std::size_t kept, std::size_t begin, std::size_t end, double* into) {
    const std::size_t d = block.columns;
    std::vector<double> moved(d);
    for (std::size_t i = begin; i < end; ++i) {
        if (block.dense != nullptr) {
            const double* row = block.dense + i * d;
            for (std::size_t j = 0; j < d; ++j) {
                moved[j] = row[j] - mean[j];
            }
        } else {
            std::transform(mean.begin(), mean.end(), moved.begin(), [](double m) { return -m; });
            for (std::int64_t k = block.starts[i]; k < block.ends[i]; ++k) {
                moved[static_cast<std::size_t>(block.column[k])] += block.value[k];
            }
        }
        for (std::size_t c = 0; c < kept; ++c) {
            const double* axis = along.data() + c * d;
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (std::size_t j = 0; j < d; ++j) {
                sum += moved[j] * axis[j];
            }
            into[i * kept + c] = sum;
        }
    }
}

}  // namespace

void project(nw_run* run, const Frame& frame, const double* vectors) {
    const State& own = state(run);
    const std::size_t d = own.columns;
    std::vector<double> along(vectors, vectors + own.projected * d);
    for (std::size_t i = 0; i < along.size(); ++i) {
        along[i] *= frame.scale[i % d];
    }
    auto* into = static_cast<double*>(nw_data(run, "projection"));
    const auto threads = static_cast<std::size_t>(run->threads);
    Block block;
    for (own.source->rewind(); own.source->next(block);) {
#pragma omp parallel for num_threads(run->threads) schedule(static, 1)
        for (std::size_t t = 0; t < threads; ++t) {
            project_rows(block, frame.mean, along, own.projected, block.count * t / threads,
                         block.count * (t + 1) / threads, into);
        }
        into += block.count * own.projected;
    }
}

}  // namespace pca
