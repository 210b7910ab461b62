// SPDX-License-Identifier: BSD-3-Clause
// The elided lock with transactions that end as a script says, since most processors have none: what it does after each
// kind of abort. Prints the first thing that is wrong, and ends with 1.
#include <immintrin.h>

#include <csetjmp>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

std::vector<unsigned> script;  // what the beginnings of transactions say, one after the other
std::size_t begun = 0;
int ended = 0;
unsigned aborted_with = 0;
std::jmp_buf beginning;

// The last word of the script is repeated.
unsigned said() { return script[begun < script.size() ? begun++ : (++begun, script.size() - 1)]; }

}  // namespace

// An abort takes the program back to where the transaction began, as the processor does.
#undef _xabort
#define _xbegin() (setjmp(beginning) == 0 ? said() : (_XABORT_EXPLICIT | aborted_with << 24))
#define _xabort(code) (aborted_with = (code), std::longjmp(beginning, 1))
#define _xend() (++ended)
#include "../locks.h"

namespace {

constexpr unsigned kStarted = _XBEGIN_STARTED;
constexpr unsigned kTries = 8;

int wrong = 0;

// A section under the lock: how often a transaction was to begin, and how often one was ended.
void section(const char* what, std::vector<unsigned> with, std::size_t begins, int ends) {
    script = std::move(with);
    begun = 0;
    ended = 0;
    store::Elided lock;
    lock.lock();
    lock.unlock();
    // free again, whichever way it was held
    script = {kStarted};
    const std::size_t first = begun;
    const int done = ended;
    begun = 0;
    lock.lock();
    lock.unlock();
    if (first != begins || done != ends || begun != 1 || ended != done + 1) {
        std::printf("%s: %zu transactions begun, %d ended; then %zu and %d\n", what, first, done, begun, ended - done);
        wrong = 1;
    }
}

// One who finds the lock taken aborts, waits until it is free without beginning again, and then does without it.
void taken_by_another() {
    store::Elided lock;
    script = {_XABORT_CAPACITY};
    begun = 0;
    lock.lock();  // taken, not elided
    script = {kStarted};
    begun = 0;
    ended = 0;
    std::atomic<bool> inside{false};
    std::thread other([&] {
        lock.lock();
        inside = true;
        lock.unlock();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (inside || begun != 1 || aborted_with != 0xff) {
        std::printf("taken: a second one is inside, or began %zu transactions\n", begun);
        wrong = 1;
    }
    lock.unlock();
    other.join();
    if (!inside || begun != 2 || ended != 1) {
        std::printf("taken: then %zu begun and %d ended\n", begun, ended);
        wrong = 1;
    }
}

}  // namespace

int main() {
    constexpr unsigned kConflict = _XABORT_CONFLICT | _XABORT_RETRY;
    section("no abort", {kStarted}, 1, 1);
    section("two conflicts", {kConflict, kConflict, kStarted}, 3, 1);
    section("conflicts without end", {kConflict}, kTries, 0);
    section("capacity", {_XABORT_CAPACITY}, 1, 0);
    section("no reason, as for a system call", {0}, 1, 0);
    section("a conflict, then capacity", {kConflict, _XABORT_CAPACITY}, 2, 0);
    taken_by_another();
    return wrong;
}
