// SPDX-License-Identifier: BSD-3-Clause
// How long the threads of a run were ready to run and had no processor, as the scheduler counts it for each of them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <string>

namespace nodewise {

// The counters of a thread go with it, so the threads are looked at while the run lasts, at growing distances, and its
// first process once more at its end. A look takes at most a five-hundredth of the time until the next.
class Waiting {
  public:
    // When the first look is due, in seconds after the beginning: shorter runs are seen by their first process alone.
    static constexpr double kFirst_s = 0.02;

    // Forgets what was seen; a run of the process `pid` begins.
    void start();
    // Looks at every thread of `pid` and of what descends from it; the seconds until the next look is due.
    double look(pid_t pid);
    // Looks at an ended process that has not been taken away yet.
    void end(pid_t pid);
    // waited_s, the sum over the threads that were seen, until they were seen last; watched_s, the processor time that
    // they had until then; busiest_s, that of the one that had the most; watched_threads, how many had a twentieth of
    // all or more. Nothing where the kernel does not say.
    [[nodiscard]] std::map<std::string, double> stop() const;

  private:
    struct Thread {
        double ran_s = 0;
        double waited_s = 0;
    };
    void read(pid_t pid, pid_t thread);
    void look_at(pid_t pid, int depth);

    std::map<pid_t, Thread> threads_;
    double begin_s_ = 0;
    std::size_t looked_at_ = 0;
};

}  // namespace nodewise
