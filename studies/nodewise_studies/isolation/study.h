// SPDX-License-Identifier: BSD-3-Clause
// Three kernels whose result is known without them: what a processor, memory and the system's calls cost, isolated or
// not.
#pragma once

#include <cstdint>

#include "abi/kernel.h"

namespace isolation {

enum class Kernel { compute, memory, syscalls };

struct Task {
    Kernel kernel;
    std::uint64_t rounds;
    std::uint64_t words;  // of the array that memory is about
    std::uint64_t first;  // what compute begins with: the sum of the input
    std::uint64_t* array;
    std::uint64_t* result;
};

Task task_of(const nw_run* run);
// The result after all rounds, by a formula.
std::uint64_t expected(const Task& task);

int layout(nw_run* run);
int fill(nw_run* run);
int reset(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);
int direct(nw_run* run);

}  // namespace isolation
