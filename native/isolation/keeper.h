// SPDX-License-Identifier: BSD-3-Clause
// Starts a runtime with the program in it, waits for its end, and reports what became of both.
#pragma once

#include <string>

#include "isolation/room.h"
#include "isolation/spec.h"

namespace nodewise {

// How the program ended, or its runtime where the program was not reached.
struct End {
    int exit_code = 0;
    int signal = 0;
};

// CLOCK_MONOTONIC in seconds.
double now();

// Adds a line of JSON to a report: at what second of `now` it was.
void add_time(int report, const char* what, double seconds);

// Runs the spec's words around the program `words`, which is to run in `folder`. `room` is null where the runtime makes
// its own. Raises std::exception.
End keep(const Spec& spec, const Room* room, const std::string& folder, char** words, int report);

}  // namespace nodewise
