// SPDX-License-Identifier: BSD-3-Clause
// Binding the threads that a library makes for itself, so that a peer's threads sit as a variant's do.
//
// Few libraries have a variable for it, and threads that are made while the first one is bound would all share its
// place. So first runs show which threads work, and each of those is then held to a place of its own.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <map>
#include <vector>

namespace nodewise {

// Sets of processors, one for each thread: NODEWISE_BIND, such as "0,4:1,5". Empty where it is not set or not such a
// text.
std::vector<cpu_set_t> places_asked(const char* text);

class Binder {
  public:
    explicit Binder(std::vector<cpu_set_t> places);

    // Whether there is something to bind: more than one place.
    [[nodiscard]] bool asked() const { return places_.size() > 1; }

    // Around what is not timed: all places are open to the first thread, and to those that it makes.
    void free_first() const;
    // Directly before the timed part: our own pool of threads has ended where the library has another one, and the
    // first thread is in its place.
    void ready() const;

    // Around each of the runs by which the working threads are found.
    void begin();
    void end();
    // How many threads were bound: all that worked, or none where they were more than places, or had ended by then.
    int bind();

  private:
    std::vector<cpu_set_t> places_;
    cpu_set_t all_{};
    std::map<pid_t, double> before_;
    std::map<pid_t, double> ran_;  // seconds that each thread has run within the watched runs
    double process_before_ = 0;
    double process_ = 0;  // seconds of processors within the watched runs
    double seen_ = 0;     // of these, those of known threads
    bool bound_ = false;
    bool first_works_ = false;
    bool own_pool_ = false;  // the library works with the pool that the worker itself uses
};

}  // namespace nodewise
