// SPDX-License-Identifier: BSD-3-Clause
// The first process of a guest's system: loads modules, mounts the host's root, starts the program, ends the machine.
#pragma once

namespace nodewise {

// Never returns: at its end the machine is off.
[[noreturn]] void run_guest();

}  // namespace nodewise
