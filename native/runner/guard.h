// SPDX-License-Identifier: BSD-3-Clause
// A process above the one that runs programs: where that is killed, nobody else would find what its program started,
// nor put back what was changed on the machine for it.
#pragma once

#include <functional>

namespace nodewise {

// Calls `serve` in a process of its own and gives its exit code; 128 and the signal's number where one ended it.
// Nothing that was started below it is left then. `serve` is handed a descriptor whose other end closes when the guard
// is gone.
int guarded(const std::function<int(int guard)>& serve);

// What is changed on the machine while something runs. `put_back` may be called more than once, and by two processes.
// Where `make` starts programs, the second process waits for their end before it puts back.
struct Change {
    std::function<void()> make;
    std::function<void()> put_back;
};

// The same, with a change around it that is put back however it ends: also where this process is killed, by a second
// one in a session of its own that waits for the end of this one, and where the one that started this ends.
int guarded(const std::function<int(int guard)>& serve, const Change& change);

}  // namespace nodewise
