// SPDX-License-Identifier: BSD-3-Clause
// A process above the one that runs programs: where that is killed, nobody else would find what its program started.
#pragma once

#include <functional>

namespace nodewise {

// Calls `serve` in a process of its own and gives its exit code; 128 and the signal's number where one ended it.
// Nothing that was started below it is left then. `serve` is handed a descriptor whose other end closes when the guard
// is gone.
int guarded(const std::function<int(int guard)>& serve);

}  // namespace nodewise
