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

// A file and what was in it.
struct Setting {
    std::string file;
    std::string value;
};

// What another governor of a processor changes, in the order in which it is written again: the governor, the frequency
// that `userspace` was told, what firmware was asked for, and the governor's own values, which the kernel forgets with
// its last processor. Empty where no governor can be read.
std::vector<Setting> read_settings(const std::string& sys, int processor);

// Writes what is not as it was. The files that did not take it.
std::vector<Setting> restore_settings(const std::vector<Setting>& settings);

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
