// SPDX-License-Identifier: BSD-3-Clause
// What the machine did while a program ran: a reading before, a reading after, and the difference.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace nodewise {

// Running totals in seconds; a name is absent where the system does not tell.
using Reading = std::map<std::string, double>;

// A file of the kernel's that is read again and again through one descriptor.
class KernelFile {
  public:
    explicit KernelFile(const std::string& path);
    ~KernelFile();
    KernelFile(KernelFile&& other) noexcept;
    KernelFile(const KernelFile&) = delete;
    KernelFile& operator=(const KernelFile&) = delete;
    KernelFile& operator=(KernelFile&&) = delete;
    // Its first 4 KiB as they are now; empty where it is not there.
    [[nodiscard]] std::string read() const;

  private:
    int descriptor_;
};

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
    KernelFile stat_;
    KernelFile load_;
    KernelFile throttle_;
    std::vector<std::pair<std::string, KernelFile>> pressure_;
};

// What `after` has more than `before`, for the names that both have.
Reading difference(const Reading& before, const Reading& after);

}  // namespace nodewise
