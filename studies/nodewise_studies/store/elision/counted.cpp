// SPDX-License-Identifier: BSD-3-Clause
// Threads that count under the elided lock, with the processor's own instructions: for one that has them, or an
// emulator. Prints whether a transaction can begin here, and the sum.
#include <cstdio>
#include <thread>
#include <vector>

#include "../locks.h"

namespace {

constexpr int kThreads = 4;
constexpr int kTimes = 20000;

__attribute__((target("rtm"))) bool can_begin() {
    for (int i = 0; i < 100; ++i) {
        if (_xbegin() == _XBEGIN_STARTED) {
            _xend();
            return true;
        }
    }
    return false;
}

}  // namespace

int main() {
    store::Elided lock;
    long sum = 0;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < kTimes; ++i) {
                lock.lock();
                sum = sum + 1;
                lock.unlock();
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    std::printf("%s %ld of %d\n", can_begin() ? "begins" : "aborts", sum, kThreads * kTimes);
    return 0;
}
