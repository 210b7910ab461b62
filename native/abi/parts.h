// SPDX-License-Identifier: BSD-3-Clause
// What C++ kernels on long vectors share: parts of threads, chunks that stay in a cache, sums over threads and ranks.
#pragma once

#include <omp.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "abi/kernel.h"

namespace nw {

// Calls function(thread, begin, end) on each thread with its part of the elements.
template <typename Function>
void on_parts(const nw_run* run, std::int64_t n, const Function& function) {
#pragma omp parallel num_threads(run->threads)
    {
        const int thread = omp_get_thread_num();
        const int threads = omp_get_num_threads();
        const auto count = static_cast<std::uint64_t>(n);
        function(thread, static_cast<std::int64_t>(nw_begin(count, thread, threads)),
                 static_cast<std::int64_t>(nw_begin(count, thread + 1, threads)));
    }
}

// Calls function(begin, count) for one chunk after the other.
template <typename Function>
void on_chunks(std::int64_t begin, std::int64_t end, std::int64_t chunk, const Function& function) {
    for (std::int64_t at = begin; at < end; at += chunk) {
        function(at, end - at < chunk ? end - at : chunk);
    }
}

// Sums that the threads make part by part: each in lines of its own, added in the order of threads, so that the same
// run gives the same sums.
class Sums {
  public:
    Sums(int threads, int most) : threads_(threads), stride_((most + kLine - 1) / kLine * kLine + kLine) {
        values_.resize(static_cast<std::size_t>(threads_) * static_cast<std::size_t>(stride_));
    }
    void clear() { values_.assign(values_.size(), 0.0); }
    double* of(int thread) {
        return values_.data() + static_cast<std::size_t>(thread) * static_cast<std::size_t>(stride_);
    }
    // Over all threads, then over all ranks, whose part of the time is kept.
    void total(nw_run* run, int count, double* out) {
        for (int i = 0; i < count; ++i) {
            out[i] = 0;
            for (int t = 0; t < threads_; ++t) {
                out[i] += of(t)[i];
            }
        }
        const auto begin = std::chrono::steady_clock::now();
        run->sum(run, out, static_cast<std::size_t>(count));
        communication_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    // Seconds spent in sums over the ranks, waiting for the others too, since this was asked for last.
    double communication_s() {
        const double spent = communication_s_;
        communication_s_ = 0;
        return spent;
    }

  private:
    static constexpr int kLine = 8;  // doubles of a cache line
    int threads_;
    int stride_;
    double communication_s_ = 0;
    std::vector<double> values_;
};

}  // namespace nw
