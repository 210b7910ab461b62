// SPDX-License-Identifier: BSD-3-Clause
// Waiting for what a guest's kernel makes by itself a moment after its module was loaded.
#pragma once

#include <ctime>

namespace nodewise {

// Whether `is_there()` becomes true within ten seconds, which an emulated guest among many may need.
template <typename Predicate>
bool awaited(Predicate is_there) {
    constexpr int kRounds = 5000;
    constexpr timespec kPause{0, 2'000'000};
    for (int round = 0; round < kRounds; ++round) {
        if (is_there()) {
            return true;
        }
        nanosleep(&kPause, nullptr);
    }
    return false;
}

}  // namespace nodewise
