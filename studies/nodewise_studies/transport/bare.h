// SPDX-License-Identifier: BSD-3-Clause
// Contenders that are nothing but shared memory, and the limits: no library, no peers that come, go or die, no checks.
#pragma once

#include "side.h"

namespace transport {

void ring(Side& side);           // copy, loan, token, latency
void mapped(Side& side);         // one-sided
void line(Side& side);           // latency: two processors on one cache line
void bare_futex(Side& side);     // latency, asleep
void memory_copy(Side& side);    // limit of what is copied
void untransferred(Side& side);  // limit of what is written and summed

}  // namespace transport
