// SPDX-License-Identifier: BSD-3-Clause
// The processes that a program leaves: those that lose their parent come to the nearest ancestor that asked for them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace nodewise {

// What a process is called that puts back what was changed on the machine (at most 15 letters, as the kernel has it).
// It is not called nodewise, as who kills all that is (`pkill -9 nodewise`) would leave the machine changed.
inline constexpr const char* kKeeper = "change-keeper";

// From now on orphans below this process become its children.
void adopt_orphans();

std::vector<pid_t> own_children();

// What a program left: the names of what still ran, and the processor time of that and of orphans that had ended.
struct Left {
    std::vector<std::string> names;
    double processor_s = 0;
};

// Kills the children, and what comes to this process as they die, until there are none.
// `group` is killed besides where it is not 0. Gives up after about a second on processes that cannot die.
Left end_children(pid_t group = 0);

}  // namespace nodewise
