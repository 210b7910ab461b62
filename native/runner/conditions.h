// SPDX-License-Identifier: BSD-3-Clause
// What the machine did while a program ran: a reading before, a reading after, and the difference.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nodewise {

// Running totals in seconds; a name is absent where the system does not say.
using Reading = std::map<std::string, double>;

// A file of the kernel's that is read again and again through one descriptor.
class KernelFile {
  public:
    // `most` is how many bytes of it are read.
    explicit KernelFile(const std::string& path, std::size_t most = 4096);
    ~KernelFile();
    KernelFile(KernelFile&& other) noexcept;
    KernelFile(const KernelFile&) = delete;
    KernelFile& operator=(const KernelFile&) = delete;
    KernelFile& operator=(KernelFile&&) = delete;
    // Its beginning as it is now; empty where it is not there.
    [[nodiscard]] std::string read() const;
    // The number that it begins with; nothing where it cannot be read or begins with none.
    [[nodiscard]] std::optional<double> leading_number() const;
    // The same; 0 where there is none.
    [[nodiscard]] double number() const { return leading_number().value_or(0); }
    [[nodiscard]] bool there() const { return descriptor_ >= 0; }

  private:
    int descriptor_;
    std::size_t most_;
};

class Conditions {
  public:
    // `root` stands before every path; tests read a recorded system.
    explicit Conditions(std::string root = "");

    // steal_s, busy_s (all processors, all processes); of the processors in `mask`, or without one of all that this
    // process may use, mask_steal_s and mask_busy_s; of these and the ones in `domain`, where there are any,
    // domain_busy_s; pressure_{cpu,memory,io}_s; throttled_s (by quotas of the control group and those above it);
    // heat_events (how often heat lowered the clock of a core or socket).
    [[nodiscard]] Reading read(const std::optional<std::vector<int>>& mask, const std::vector<int>& domain = {}) const;
    // How many processors are in `mask`, or without one may be used.
    [[nodiscard]] std::size_t processors(const std::optional<std::vector<int>>& mask) const {
        return mask ? mask->size() : allowed_.size();
    }
    // How many threads besides the one that asks are running or ready to run, on the whole machine, and stay so.
    [[nodiscard]] double ready() const;
    // The mean clock of the given processors now, in hertz; 0 where it is not shown.
    [[nodiscard]] double frequency(const std::vector<int>& processors) const;
    // The clock that the first processor keeps at any load and heat, in hertz; 0 where it is not shown.
    [[nodiscard]] double base_frequency() const { return base_frequency_; }
    [[nodiscard]] double load_average() const;

  private:
    [[nodiscard]] double ready_now() const;

    std::string root_;
    std::vector<int> allowed_;
    KernelFile stat_;
    KernelFile load_;
    std::vector<KernelFile> throttle_;
    std::vector<KernelFile> heat_;
    std::vector<std::pair<std::string, KernelFile>> pressure_;
    double base_frequency_ = 0;
};

// What `after` has more than `before`, for the names that both have.
Reading difference(const Reading& before, const Reading& after);

}  // namespace nodewise
