// SPDX-License-Identifier: BSD-3-Clause
// What is counted: the bytes that a variant reads and writes for its purpose. A line that an ordinary store fetches
// first, only to overwrite it, is not counted, so that variants can be compared.
#include "streams.h"
#include "study.h"

namespace bandwidth {
namespace {

// Of all bytes of a repetition `read` parts of `all` are read.
void share(const nw_run* run, double read, double all, double flops, nw_work* out) {
    const State& own = state(run);
    const double elements = static_cast<double>(own.count) * static_cast<double>(own.passes);
    const double bytes = elements * static_cast<double>(kBytes);
    *out = {bytes, elements * flops, bytes * read / all, bytes * (all - read) / all};
}

}  // namespace

// The triad's: two arrays are read and one is written, with two operations an element.
void work(const nw_run* run, nw_work* out) { share(run, 2, 3, 2.0 * kTriads, out); }
void read_work(const nw_run* run, nw_work* out) { share(run, 1, 1, 0, out); }
void write_work(const nw_run* run, nw_work* out) { share(run, 0, 1, 0, out); }
void copy_work(const nw_run* run, nw_work* out) { share(run, 1, 2, 0, out); }

}  // namespace bandwidth
