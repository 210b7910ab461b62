// SPDX-License-Identifier: BSD-3-Clause
// Fixed work, repeated on one processor, with a look at the clock after every little piece of it: how long each quantum
// of work took, and what was lost where the clock jumped because something else ran.
//
// Fixed work quantum and fixed time quantum: M. Sottile, R. Minnich, Analysis of Microbenchmarks for Performance Tuning
// of Clusters, CLUSTER 2004. Jumps of the clock ("selfish detour"): P. Beckman, K. Iskra, K. Yoshii, S. Coghlan, A.
// Nataraj, Benchmarking the effects of operating system interference on extreme-scale parallel machines, Cluster
// Computing 11, 2008.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace nodewise {

// The cheapest clock that there is, in ticks.
std::uint64_t read_ticks();
// Its name: tsc, cntvct or clock_gettime.
const char* ticks_name();

// How much work a quantum is: so many pieces of so many steps.
struct Work {
    std::uint64_t steps = 0;
    std::uint64_t pieces = 0;
    double piece_ticks = 0;  // what a piece takes undisturbed
};

// Work of about `piece_ns` a piece and `quantum_ns` a quantum on the processor that this runs on.
Work calibrate(double ticks_per_ns, double piece_ns, double quantum_ns);

// What was seen on one processor. Times are ticks.
struct Seen {
    static constexpr std::size_t kLengths = 48;

    std::vector<std::uint64_t> quanta;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t lost = 0;  // beyond what the disturbed pieces would have taken
    std::uint64_t detours = 0;
    std::uint64_t longest = 0;
    std::array<std::uint64_t, kLengths> counts{};  // of detours of 2^i to 2^(i+1) ticks
    std::array<std::uint64_t, kLengths> sums{};
};

// Repeats the work for `ticks`; the processor is the caller's choice. `seen.quanta` has room for all that will be
// written.
void spin(const Work& work, std::uint64_t ticks, Seen& seen);

}  // namespace nodewise
