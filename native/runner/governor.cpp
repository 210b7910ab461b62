// SPDX-License-Identifier: BSD-3-Clause
#include "runner/governor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace nodewise {

std::string cpufreq_folder(const std::string& sys, int processor) {
    return sys + "/devices/system/cpu/cpu" + std::to_string(processor) + "/cpufreq";
}

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

bool write_value(const std::string& path, const std::string& value) {
    const int file = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    const bool written = write(file, value.data(), value.size()) == static_cast<ssize_t>(value.size());
    return close(file) == 0 && written;
}

std::vector<Setting> read_settings(const std::string& sys, int processor) {
    const std::string folder = cpufreq_folder(sys, processor);
    const std::string governor = first_line(folder + "/scaling_governor");
    if (governor.empty()) {
        return {};
    }
    std::vector<std::string> files = {folder + "/scaling_governor"};
    if (governor == "userspace") {
        files.push_back(folder + "/scaling_setspeed");
    }
    files.push_back(folder + "/energy_performance_preference");
    // drivers keep a governor's values for each processor, or for all of them
    const std::filesystem::path all = std::filesystem::path(sys) / "devices/system/cpu/cpufreq";
    std::vector<std::string> own;
    for (const std::filesystem::path& place : {std::filesystem::path(folder) / governor, all / governor}) {
        std::error_code missing;
        for (const auto& entry : std::filesystem::directory_iterator(place, missing)) {
            own.push_back(entry.path());
        }
    }
    std::sort(own.begin(), own.end());
    files.insert(files.end(), own.begin(), own.end());
    std::vector<Setting> found;
    for (const std::string& file : files) {
        // root may open what nobody may write
        struct stat state{};
        const bool writable = stat(file.c_str(), &state) == 0 && S_ISREG(state.st_mode) && (state.st_mode & S_IWUSR);
        const std::string value = writable ? first_line(file) : "";
        if (!value.empty()) {
            found.push_back({file, value});
        }
    }
    return found;
}

std::vector<Setting> restore_settings(const std::vector<Setting>& settings) {
    std::vector<Setting> left = settings;
    // a value may be refused until another one is back: a lower threshold above the upper one
    for (int pass = 0; pass < 2 && !left.empty(); ++pass) {
        std::vector<Setting> refused;
        for (const Setting& one : left) {
            // a setting that is as it was is left alone
            if (first_line(one.file) != one.value && !write_value(one.file, one.value)) {
                refused.push_back(one);
            }
        }
        left = refused;
    }
    return left;
}

FrequencyTable read_table(const std::string& sys, int processor) {
    const std::string folder = cpufreq_folder(sys, processor) + "/stats";
    FrequencyTable found;
    std::ifstream times(folder + "/time_in_state");
    for (std::int64_t frequency = 0, time = 0; times >> frequency >> time;) {
        found.time_in_state[frequency] = time;
        found.there = true;
    }
    std::ifstream table(folder + "/trans_table");
    std::vector<std::int64_t> to;
    for (std::string line; std::getline(table, line);) {
        const std::size_t colon = line.find(':');
        std::istringstream numbers(line.substr(colon == std::string::npos ? 0 : colon + 1));
        std::int64_t value = 0;
        if (line.find("To") != std::string::npos) {
            continue;
        }
        const std::string head = colon == std::string::npos ? "" : line.substr(0, colon);
        if (head.find("From") != std::string::npos || head.find_first_of("0123456789") == std::string::npos) {
            // the line of column heads
            while (numbers >> value) {
                to.push_back(value);
            }
            continue;
        }
        const std::int64_t from = std::stoll(head);
        for (std::size_t i = 0; i < to.size() && numbers >> value; ++i) {
            found.transitions[from][to[i]] = value;
        }
    }
    return found;
}

FrequencyTable difference(const FrequencyTable& before, const FrequencyTable& after) {
    FrequencyTable found = after;
    for (auto& [frequency, time] : found.time_in_state) {
        const auto then = before.time_in_state.find(frequency);
        time -= then == before.time_in_state.end() ? 0 : then->second;
    }
    for (auto& [from, row] : found.transitions) {
        const auto then = before.transitions.find(from);
        for (auto& [to, count] : row) {
            if (then != before.transitions.end()) {
                const auto entry = then->second.find(to);
                count -= entry == then->second.end() ? 0 : entry->second;
            }
        }
    }
    return found;
}

}  // namespace nodewise
