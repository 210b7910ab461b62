// SPDX-License-Identifier: BSD-3-Clause
// Energy of the machine while a program ran, from the counters of the processors (RAPL).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runner/conditions.h"

namespace nodewise {

// Summed are the sockets (powercap's packages), which include cores and graphics, and memory (dram). The
// platform's own counter (psys) holds all of these and stands for them only where there are no sockets. A domain
// that is shown twice, through registers and through memory, is read once. Either all that is there can be read, or
// nothing is reported.
class Energy {
  public:
    // How long the counters may be left alone while a program runs, in seconds: at a kilowatt the smallest of them
    // begins again from zero after about a minute.
    static constexpr double kLook_s = 30;

    // Opens the counters below `root`/sys/class/powercap.
    explicit Energy(const std::string& root);

    [[nodiscard]] bool there() const { return !domains_.empty(); }
    // Why there are none, and what helps, in words; empty where they are there.
    [[nodiscard]] const std::string& missing() const { return missing_; }
    [[nodiscard]] const std::string& remedy() const { return remedy_; }

    // Remembers where the counters stand.
    void start();
    // Takes in what they rose by, so that one that begins again is seen; at least every kLook_s.
    void look();
    // energy_j since start(), and energy_package_j, energy_dram_j or energy_psys_j, in joules; nothing where a counter
    // could not be read meanwhile.
    std::map<std::string, double> stop();

  private:
    struct Domain {
        std::string condition;
        KernelFile file;
        double range_uj;
        double last_uj = 0;
        double risen_uj = 0;
    };
    void open(const std::string& root);

    std::vector<Domain> domains_;
    std::string missing_;
    std::string remedy_;
    bool complete_ = false;
};

}  // namespace nodewise
