// SPDX-License-Identifier: BSD-3-Clause
// The trapezoid rule for f(x) = 4 / (1 + x²): one integral, the sums that the variants share, and the table's
// functions.
#pragma once

#include <cstdint>

#include "abi/kernel.h"

namespace trapezoid {

// An integral from a to b by n intervals of width h.
struct Integral {
    std::int64_t n;
    double a;
    double b;
    double h;
};

// How a vector divides: by the instruction, or by an estimate in single precision that one Newton step refines.
enum class Division { instruction, refined };

// Both return the integral. Their flops are counted by a test, see work.cpp.
double original_rule(const Integral& integral);
double second_rule(const Integral& integral);

// The rule over the intervals [begin, end), f at both ends of each.
double intervals_sum(const Integral& integral, std::int64_t begin, std::int64_t end, Division division);
// The sum of f at the points [begin, end).
double points_sum(const Integral& integral, std::int64_t begin, std::int64_t end, Division division);
// The same, four points to a division.
double quads_sum(const Integral& integral, std::int64_t begin, std::int64_t end);

Integral integral_at(const nw_run* run, std::uint64_t which);
std::uint64_t integrals(const nw_run* run);
Division division(const nw_run* run);

int layout(nw_run* run);
int fill(nw_run* run);
int check(nw_run* run);

int original(nw_run* run);
int second(nw_run* run);
int third(nw_run* run);
int fourth(nw_run* run);
int threaded(nw_run* run);
int quads(nw_run* run);
int prepare_parts(nw_run* run);

void work(const nw_run* run, nw_work* out);
void work_original(const nw_run* run, nw_work* out);
void work_second(const nw_run* run, nw_work* out);
void work_third(const nw_run* run, nw_work* out);
void work_fourth(const nw_run* run, nw_work* out);
void work_quads(const nw_run* run, nw_work* out);

}  // namespace trapezoid
