// SPDX-License-Identifier: BSD-3-Clause
// What the machine did while a program ran: a reading before, a reading after, and the difference.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace nodewise {

// Running totals in seconds; a name is absent where the system does not tell.
using Reading = std::map<std::string, double>;

class Conditions {
  public:
    // `root` stands before every path; tests read a recorded system.
    explicit Conditions(std::string root = "");

    // steal_s, busy_s (all processors, all processes), pressure_{cpu,memory,io}_s, throttled_s.
    [[nodiscard]] Reading read() const;
    // The mean clock of the given processors now, in hertz; 0 where it is not shown.
    [[nodiscard]] double frequency(const std::vector<int>& processors) const;
    [[nodiscard]] double load_average() const;

  private:
    std::string root_;
    std::string throttle_file_;
};

// What `after` has more than `before`, for the names that both have.
Reading difference(const Reading& before, const Reading& after);

}  // namespace nodewise
