// SPDX-License-Identifier: BSD-3-Clause
// Frequency governors of Linux and what its statistics count (Documentation/admin-guide/pm/cpufreq.rst,
// cpufreq/cpufreq-stats.rst).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nodewise {

// Below `sys` (/sys) the folder of a processor's frequencies.
std::string cpufreq_folder(const std::string& sys, int processor);

// The first line of a file; empty where it cannot be read.
std::string first_line(const std::string& path);

// Writes a value, and says whether the kernel took it.
bool write_value(const std::string& path, const std::string& value);

// The counts of one processor: how often it changed from one frequency (kHz) to another, and how long it had each, in
// 10 ms.
struct FrequencyTable {
    bool there = false;
    std::map<std::int64_t, std::int64_t> time_in_state;
    std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> transitions;
};

FrequencyTable read_table(const std::string& sys, int processor);

// What was counted between two tables.
FrequencyTable difference(const FrequencyTable& before, const FrequencyTable& after);

}  // namespace nodewise
