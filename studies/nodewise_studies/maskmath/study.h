// SPDX-License-Identifier: BSD-3-Clause
// y[i] = mask[i] ? f(x[i]) : kept[i], or 0: the functions of the study's table, and what its files share.
#pragma once

#include <stdint.h>

#include "abi/kernel.h"

namespace maskmath {

// In the order of the knob's values.
enum Function { kExp, kLog, kSin, kCos, kSqrt, kAcosh, kFunctions };

// How a function is computed: as it is named, or quicker.
enum Kernel { kLogQuick = kFunctions, kSinQuick, kCosQuick, kSqrtBySteps, kAcoshQuick, kKernels };

// What each kernel computes.
constexpr int kFunctionOf[kKernels] = {kExp, kLog, kSin, kCos, kSqrt, kAcosh, kLog, kSin, kCos, kSqrt, kAcosh};

// What a masked-off argument is replaced by: valid, and no trouble.
constexpr double kHarmless[kFunctions] = {0.5, 1.5, 0.5, 0.5, 1.0, 2.0};

// What a run knows besides its arrays.
struct State {
    Function function;
    int kernel;       // by which our own variants compute it
    bool edges;       // arguments of all kinds, not only usual ones
    bool promises;    // the last run was of a variant that raises no flag for masked-off lanes
    int raised;       // floating-point exceptions of the last run
    void* of_eight;   // a peer's function
    int64_t repeats;  // of the same work in one run
    double density;   // the share of elements that the mask is to choose
    // seconds that a vector takes by the processor's own square root and by steps, 0 where it was not measured
    double root_own_s;
    double root_steps_s;
    bool zero;  // masked-off elements become 0, and nothing is read for them
    // Of 100 elements in groups that are not skipped, up to so many chosen ones the way is cheapest that has them go
    // together, and one by one.
    double most_together;
    double most_places;
    bool has_chosen;  // they were measured
};

struct Part {
    const double* x;
    const double* kept;
    const uint8_t* mask;
    double* y;
    int64_t count;
    const State* state;
    bool stream;  // y is larger than the caches
};

int layout(nw_run* run);
int fill(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);
void release(nw_run* run);

// Runs `variant` on each thread's part, as often as the knob says, and gathers the exceptions that it raised.
int in_parts(nw_run* run, void (*variant)(const Part*), bool promises);

// Measures which square root is quicker on this processor, where that is the function.
int choose_root(nw_run* run);

// That, and from how many chosen elements on which way is cheapest. Fails where there is no memory.
int choose_way(nw_run* run);

// A usual argument of a function from a random number.
double usual(Function function, uint64_t random);

int branch(nw_run* run);
int blend(nw_run* run);
int native(nw_run* run);
int compress(nw_run* run);
int best(nw_run* run);
int move(nw_run* run);

int libmvec_prepare(nw_run* run);
int svml_prepare(nw_run* run);
int svml_ha_prepare(nw_run* run);
int sleef_u10_prepare(nw_run* run);
int sleef_u35_prepare(nw_run* run);
int by_vector_function(nw_run* run);

}  // namespace maskmath
