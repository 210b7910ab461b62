// SPDX-License-Identifier: BSD-3-Clause
// What starts and times a program where it is isolated: the first process of a container, or of a guest's system.
#pragma once

#include <string>

namespace nodewise {

// Starts `words`, passes on signals and waits. `channel` ("fd:3", or a file's path) gets a line of JSON when the
// program has begun, and another one when it has ended. Returns an exit code as a shell has it: 128 and the signal's
// number where one ended the program.
int run_inside(const std::string& channel, char** words);

}  // namespace nodewise
