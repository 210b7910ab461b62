// SPDX-License-Identifier: BSD-3-Clause
// One run of a study: its knobs, arrays and memory, released at its end.
#pragma once

#include <string>
#include <vector>

#include "abi/kernel.h"
#include "worker/first_touch.h"
#include "worker/memory.h"
#include "worker/options.h"
#include "worker/ranks.h"

namespace nodewise {

class Run {
  public:
    // Lays out and allocates the arrays of one of the ranks; `options` and `ranks` have to stay. Throws
    // std::runtime_error with the study's reason.
    Run(const nw_study& study, const Options& options, Ranks& ranks);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    nw_run* get() { return &run_; }

    // Touches every array as the threads will use it, then writes the inputs.
    void fill();

    // Throws std::runtime_error with the study's reason where `status` is not 0.
    void must(int status, const char* step) const;

    // Throws std::invalid_argument where the study has no such array.
    nw_buffer& buffer(const std::string& name);

    // Bytes of all inputs and outputs.
    [[nodiscard]] double working_set() const;

    [[nodiscard]] PagesSeen pages() const;
    [[nodiscard]] const Memory& memory() const { return memory_; }

  private:
    const nw_study& study_;
    std::vector<nw_knob> knobs_;
    Memory memory_;
    // C code sees the first member only
    struct Reachable {
        nw_run run;
        Memory* memory;
        Ranks* ranks;
    };
    Reachable reachable_{};
    nw_run& run_ = reachable_.run;

    void need_memory() const;
    void offer_ranks(Ranks& ranks);
    static Ranks& ranks_of(nw_run* run);
    static void* take(nw_run* run, std::size_t bytes, unsigned how);
};

}  // namespace nodewise
