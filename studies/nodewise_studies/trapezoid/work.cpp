// SPDX-License-Identifier: BSD-3-Clause
// Flops for each interval: operations on double (and the single-precision division of an estimate) as the code has
// them, a fused multiply-add being two. test_trapezoid.py counts them in the same templates; what is done once an
// integral is left out. Nothing is read or written to speak of.
#include "study.h"

namespace trapezoid {
namespace {

constexpr double kOriginal = 10;
constexpr double kSecond = 12;
constexpr double kThirdInstruction = 13;
constexpr double kThirdRefined = 21;
constexpr double kFourthInstruction = 6;
constexpr double kFourthRefined = 10;
constexpr double kQuads = 23.0 / 4;
// A point needs to be found (1), f there (3) and added (1).
constexpr double kNeeded = 5;

void each_interval(const nw_run* run, double flops, nw_work* out) {
    const double intervals = nw_number(run, "intervals", 1) * static_cast<double>(integrals(run));
    *out = {intervals, flops * intervals, 0, 0};
}

bool refined(const nw_run* run) { return division(run) == Division::refined; }

}  // namespace

void work(const nw_run* run, nw_work* out) { each_interval(run, kNeeded, out); }
void work_original(const nw_run* run, nw_work* out) { each_interval(run, kOriginal, out); }
void work_second(const nw_run* run, nw_work* out) { each_interval(run, kSecond, out); }
void work_third(const nw_run* run, nw_work* out) {
    each_interval(run, refined(run) ? kThirdRefined : kThirdInstruction, out);
}
void work_fourth(const nw_run* run, nw_work* out) {
    each_interval(run, refined(run) ? kFourthRefined : kFourthInstruction, out);
}
void work_quads(const nw_run* run, nw_work* out) { each_interval(run, kQuads, out); }

}  // namespace trapezoid
