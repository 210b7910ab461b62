// SPDX-License-Identifier: BSD-3-Clause
// A study's shared object, loaded and found to be one that this worker can speak with.
#pragma once

#include <string>
#include <vector>

#include "abi/kernel.h"

namespace nodewise {

class StudyFile {
  public:
    // Throws std::runtime_error with the reason where the file is no study of this ABI.
    explicit StudyFile(const std::string& path);

    [[nodiscard]] const nw_study& study() const { return *study_; }
    // Throws std::runtime_error, naming those that there are.
    [[nodiscard]] const nw_variant& variant(const std::string& name) const;

    // The instruction sets that Highway can choose between here, the best first; none where the study does not use it.
    [[nodiscard]] std::vector<std::string> simd_targets() const;
    // Has Highway take that one. Throws std::invalid_argument where it cannot.
    void choose_simd(const std::string& target) const;
    // Calls its helper in a process that it has started, and gives the exit code. Throws std::invalid_argument where it
    // has none.
    [[nodiscard]] int help(int count, char** words) const;

  private:
    void* handle_;
    const nw_study* study_;
};

// Processor features that a variant needs and this processor lacks, separated by commas; empty where it can run.
std::string missing_features(const nw_variant& variant);

}  // namespace nodewise
