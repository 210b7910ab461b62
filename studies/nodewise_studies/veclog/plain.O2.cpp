// SPDX-License-Identifier: BSD-3-Clause
#include "plain.h"

int veclog::serial_o2(nw_run* run) { return serial(run); }
int veclog::parallel_o2(nw_run* run) { return parallel(run); }
