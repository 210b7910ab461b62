// SPDX-License-Identifier: BSD-3-Clause
// Counters of the kernel and of the processor, over a child and all that it starts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nodewise {

// Counters are opened once, on the runner itself, disabled and inherited: a child's copies start at its exec, so that
// nothing has to be attached to a process that is about to be timed. What a child counted is added here as it ends.
class Counters {
  public:
    Counters();
    ~Counters();
    Counters(const Counters&) = delete;
    Counters& operator=(const Counters&) = delete;

    // Remembers where the counters stand.
    void start();
    // By how much each rose since start().
    [[nodiscard]] std::map<std::string, double> stop() const;
    // Why hardware counters are missing, in words; empty where they are there.
    [[nodiscard]] const std::string& hardware_missing() const { return hardware_missing_; }

    // Whether they leave out what the kernel does for the program, which is all that an ordinary user may count.
    [[nodiscard]] bool user_only() const { return user_only_; }

  private:
    struct Counter {
        std::string name;
        int descriptor;
        std::uint64_t begin;
    };
    bool open_counter(const std::string& name, std::uint32_t type, std::uint64_t config, bool hardware);
    void open_aperf();

    std::vector<Counter> counters_;
    std::string hardware_missing_;
    bool user_only_ = false;
};

}  // namespace nodewise
