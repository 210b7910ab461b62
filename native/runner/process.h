// SPDX-License-Identifier: BSD-3-Clause
// One run: start a command without a shell, wait for it, and leave nothing of it behind.
#pragma once

#include <sys/resource.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/capture.h"
#include "runner/children.h"

namespace nodewise {

// set_mempolicy(2): `mode` is the kernel's number, `nodes` whose memory it names.
struct MemoryPolicy {
    int mode = 0;
    std::vector<int> nodes;
};

struct Job {
    std::string program;                 // the file to execute
    std::vector<std::string> arguments;  // with the program's name first
    std::vector<std::string> environment;
    std::string directory;
    std::string input = "/dev/null";
    std::optional<std::vector<int>> mask;
    std::optional<MemoryPolicy> memory;
    bool no_huge_pages = false;  // no transparent huge pages for it, whatever the system's setting
    std::vector<std::pair<int, rlim_t>> limits;
    double timeout_s = 0;  // none at 0
};

struct Outcome {
    // Where the program could not be started: which step, and errno (0: it was ended before it began). Nothing else is
    // set then.
    std::string failed_step;
    int failed_errno = 0;

    double wall_s = 0;      // from just before exec to exit
    double started_at = 0;  // seconds since 1970
    int exit_code = -1;     // -1 where a signal ended it
    int signal = 0;
    bool timed_out = false;
    bool cancelled = false;
    // The signal by which the terminal stopped the program, which may not use it; 0 where it did not.
    int by_terminal = 0;
    // Whether this process was stopped meanwhile, and so saw the end late.
    bool stopped = false;
    // What the program's main thread might use at its end, where that is not within the mask that it was given.
    std::vector<int> rebound;
    // The names of processes that were still there after the program's end, and were killed.
    Left left;
    rusage usage{};
};

class Process {
  public:
    // `control` and `guard` are read while a run goes on: input, or its end, cancels the run.
    Process(int control, int guard);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    // Have `what` called with the number of the program's first process `first_s` seconds after it began, and then
    // again each time after as many seconds as it returned.
    void look_after(double first_s, std::function<double(int)> what) { looks_.push_back({first_s, std::move(what)}); }
    // Have `what` called when the first process has ended, before it is taken away.
    void at_end(std::function<void(int)> what) { at_end_ = std::move(what); }

    Outcome run(const Job& job, Capture& out, Capture& err);

  private:
    struct Streams;
    struct Look {
        double first_s;
        std::function<double(int)> what;
        double due = 0;
    };
    bool take_signals();
    void wait_for_end(int pid, const Job& job, Streams& streams, Outcome& outcome);
    int open_input(const Job& job, Outcome& outcome) const;

    int control_;
    int guard_;
    int signals_;  // of children that ended, and of being let go on after a stop
    std::vector<char> stack_;
    std::vector<Look> looks_;
    std::function<void(int)> at_end_ = [](int) {};
};

}  // namespace nodewise
