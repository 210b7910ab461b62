// SPDX-License-Identifier: BSD-3-Clause
// nodewise-governor [--sys DIR] [--set GOVERNOR] [--load MODULE] PROCESSORS -- COMMAND [+ COMMAND]...: runs the
// commands at the same time on the first of the processors (a comma between numbers), if wanted under another governor,
// and puts back what it changed, also where it is killed. Prints as one line of JSON the seconds until the last command
// ended, and what the kernel counted of that processor's frequencies meanwhile. A module is loaded for as long as that
// takes where neither it nor the statistics are there. Two that set governors wait for each other: the second would put
// back what the first has set. Exit codes: that of the first command that failed; 2 for words that are not understood;
// 3 where the governor cannot be set, or not put back.
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "json/json.h"
#include "runner/governor.h"
#include "runner/guard.h"

namespace {

using nodewise::cpufreq_folder;
using nodewise::first_line;
using nodewise::FrequencyTable;
using nodewise::Json;

constexpr int kNotSet = 3;

struct Asked {
    std::string sys = "/sys";
    std::string governor;
    std::string module;
    std::vector<int> processors;
    std::vector<std::vector<std::string>> commands;
};

Asked read_words(int count, char** words) {
    Asked asked;
    int i = 1;
    for (; i + 1 < count && std::string(words[i]).rfind("--", 0) == 0; i += 2) {
        const std::string name = words[i];
        if (name == "--sys") {
            asked.sys = words[i + 1];
        } else if (name == "--set") {
            asked.governor = words[i + 1];
        } else if (name == "--load") {
            asked.module = words[i + 1];
        } else {
            throw std::invalid_argument("no such option: " + name);
        }
    }
    if (i >= count) {
        throw std::invalid_argument("no processors are named");
    }
    std::istringstream list(words[i]);
    for (std::string one; std::getline(list, one, ',');) {
        asked.processors.push_back(std::stoi(one));
    }
    if (asked.processors.empty() || i + 2 >= count || std::string(words[i + 1]) != "--") {
        throw std::invalid_argument("behind the processors come -- and a command");
    }
    asked.commands.emplace_back();
    for (i += 2; i < count; ++i) {
        if (std::string(words[i]) == "+") {
            asked.commands.emplace_back();
        } else {
            asked.commands.back().emplace_back(words[i]);
        }
    }
    return asked;
}

double now_s() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

int run_quietly(const std::vector<std::string>& words) {
    const pid_t child = fork();
    if (child == 0) {
        std::vector<char*> given;
        given.reserve(words.size() + 1);
        for (const std::string& word : words) {
            given.push_back(const_cast<char*>(word.c_str()));
        }
        given.push_back(nullptr);
        const int nothing = open("/dev/null", O_RDWR);
        if (nothing >= 0) {
            dup2(nothing, STDOUT_FILENO);
            dup2(nothing, STDERR_FILENO);
        }
        execvp(given[0], given.data());
        _exit(127);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

Json as_json(const FrequencyTable& table) {
    Json times = Json::object();
    for (const auto& [frequency, time] : table.time_in_state) {
        times.set(std::to_string(frequency), time);
    }
    Json transitions = Json::object();
    for (const auto& [from, row] : table.transitions) {
        Json counted;
        for (const auto& [to, number] : row) {
            if (number != 0) {
                counted.set(std::to_string(to), number);
            }
        }
        if (!counted.is_null()) {
            transitions.set(std::to_string(from), counted);
        }
    }
    return {{"time_in_state", times}, {"transitions", transitions}};
}

// The commands at once, on one processor; the first exit code that is not 0.
int run_together(const Asked& asked) {
    std::vector<pid_t> started;
    const pid_t parent = getpid();
    for (const auto& command : asked.commands) {
        const pid_t child = fork();
        if (child == 0) {
            // who started it may be killed, and may have been just before
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) {
                _exit(2);
            }
            // what each says of itself is no line of this sample, whose seconds are those of all
            dup2(STDERR_FILENO, STDOUT_FILENO);
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(static_cast<unsigned>(asked.processors[0]), &one);
            if (sched_setaffinity(0, sizeof one, &one) != 0) {
                std::perror("nodewise-governor: sched_setaffinity");
                _exit(2);
            }
            std::vector<char*> words;
            words.reserve(command.size() + 1);
            for (const std::string& word : command) {
                words.push_back(const_cast<char*>(word.c_str()));
            }
            words.push_back(nullptr);
            execvp(words[0], words.data());
            std::perror(words[0]);
            _exit(127);
        }
        started.push_back(child);
    }
    int code = 0;
    for (const pid_t child : started) {
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        if (code == 0) {
            code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
    return code;
}

// Holds a file until the last process that has the descriptor ends, the one that puts back among them. Waits for
// others.
void hold(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
        return;
    }
    std::cerr << "nodewise-governor: waits for another one that has set " << path << '\n';
    while (flock(file, LOCK_EX) != 0 && errno == EINTR) {
    }
}

int measure(const Asked& asked) {
    const FrequencyTable before = nodewise::read_table(asked.sys, asked.processors[0]);
    const double begin = now_s();
    const int code = run_together(asked);
    const double seconds = now_s() - begin;
    const FrequencyTable counted = difference(before, nodewise::read_table(asked.sys, asked.processors[0]));
    Json made = {{"seconds", seconds}};
    if (counted.there) {
        const std::int64_t top = counted.time_in_state.rbegin()->first;
        std::int64_t into_top = 0;
        std::int64_t all = 0;
        for (const auto& [from, row] : counted.transitions) {
            for (const auto& [to, number] : row) {
                all += number;
                into_top += to == top ? number : 0;
            }
        }
        made.set("transitions", all);
        made.set("into_top", into_top);
        std::cerr << "nodewise-governor: " << nodewise::to_text(as_json(counted)) << '\n';
    }
    std::cout << nodewise::protocol_line(made) << '\n' << std::flush;
    return code;
}

}  // namespace

int main(int count, char** words) {
    try {
        const Asked asked = read_words(count, words);
        const bool set = !asked.governor.empty();
        std::vector<nodewise::Setting> before;
        if (set) {
            // nobody waits for what has lost who started it
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            std::vector<int> ordered = asked.processors;
            // two that hold the same processors in another order would wait for each other for ever
            std::sort(ordered.begin(), ordered.end());
            ordered.erase(std::unique(ordered.begin(), ordered.end()), ordered.end());
            for (const int processor : ordered) {
                hold(cpufreq_folder(asked.sys, processor) + "/scaling_governor");
            }
            for (const int processor : asked.processors) {
                const auto one = nodewise::read_settings(asked.sys, processor);
                if (one.empty()) {
                    std::cerr << "nodewise-governor: " << cpufreq_folder(asked.sys, processor)
                              << "/scaling_governor cannot be read or written\n";
                    return kNotSet;
                }
                before.insert(before.end(), one.begin(), one.end());
            }
        }
        const std::string stats = cpufreq_folder(asked.sys, asked.processors[0]) + "/stats";
        const std::string module = asked.sys + "/module/" + asked.module;
        const bool load =
            !asked.module.empty() && access(stats.c_str(), F_OK) != 0 && access(module.c_str(), F_OK) != 0;
        bool lost = false;
        const auto put_back = [&] {
            for (const auto& [file, value] : nodewise::restore_settings(before)) {
                lost = true;
                std::cerr << "nodewise-governor: " << file << " could not be put back to " << value << '\n';
            }
            if (load) {
                run_quietly({"modprobe", "-r", asked.module});
            }
        };
        const auto make = [&] {
            if (load) {
                run_quietly({"modprobe", asked.module});
            }
            for (const int processor : asked.processors) {
                const std::string file = cpufreq_folder(asked.sys, processor) + "/scaling_governor";
                if (set && !nodewise::write_value(file, asked.governor)) {
                    throw std::runtime_error("the kernel does not take " + asked.governor + " in " + file);
                }
            }
        };
        const int code = nodewise::guarded([&](int) { return measure(asked); }, {make, put_back});
        return lost ? kNotSet : code;
    } catch (const std::runtime_error& problem) {
        std::cerr << "nodewise-governor: " << problem.what() << '\n';
        return kNotSet;
    } catch (const std::exception& problem) {
        std::cerr << "nodewise-governor: " << problem.what() << '\n';
        return 2;
    }
}
