// SPDX-License-Identifier: BSD-3-Clause
// A variant is timed on each folder: written, brought to the disk where asked, read back. Only that is timed which knob
// `op` names; opening a new file, and what puts the page cache into a known state, is not.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "folders.h"
#include "study.h"

namespace fileio {
namespace {

// What is reported of a folder. Metrics keep no copy of their names.
enum FolderMetric { kSeconds, kOther, kSmall, kMiddle, kUnmapping, kUser, kFolderMetrics };
constexpr std::size_t kMostFolders = (NW_MOST_METRICS - 4) / kFolderMetrics;

struct State {
    std::vector<std::string> folders;
    std::vector<File> files;  // those of the last run, for the check
    const Variant* variant = nullptr;
    char names[kMostFolders][kFolderMetrics][24];
};

State& state_of(const nw_run* run) { return *static_cast<State*>(run->own); }

bool is(const nw_run* run, const char* knob, const char* value) {
    const char* given = nw_text(run, knob);
    return given != nullptr && std::strcmp(given, value) == 0;
}

Array array_of(const nw_run* run, const char* name) {
    return {static_cast<double*>(nw_data(run, name)), static_cast<std::int64_t>(run->buffers[0].count),
            static_cast<std::int64_t>(nw_number(run, "row", 1))};
}

void close_files(State& state) {
    for (const File& file : state.files) {
        close(file.fd);
    }
    state.files.clear();
}

using Clock = std::chrono::steady_clock;

// Seconds by the clock, and those of the processors in user mode, that is, outside of the system's calls.
struct Took {
    double seconds = 0;
    double user = 0;
};

double user_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_utime.tv_sec) + 1e-6 * static_cast<double>(used.ru_utime.tv_usec);
}

class Stopwatch {
  public:
    Took took() const {
        const Clock::time_point end = Clock::now();
        return {std::chrono::duration<double>(end - begin_).count(), user_seconds() - user_};
    }

  private:
    double user_ = user_seconds();
    Clock::time_point begin_ = Clock::now();
};

struct Times {
    Took write;
    Took read;
    double cached = 0;  // which part was in the page cache before it was read
};

// Writes the array to a new file of a folder. The file is open where that worked.
int write_once(nw_run* run, const Variant& variant, const std::string& folder, const Array& array, File& file,
               Took& took) {
    file = file_in(folder);
    if (file.fd < 0) {
        return nw_fail(run, "%s: no file can be made: %s", folder.c_str(), strerror(errno));  // NOLINT: one thread
    }
    // O_DIRECT wants multiples of 4 KiB
    file.block = (static_cast<std::int64_t>(nw_number(run, "block", 1024)) + 3) / 4 * 4096;
    file.depth = static_cast<std::int64_t>(nw_number(run, "depth", 8));
    file.chunk = static_cast<std::int64_t>(nw_number(run, "chunk", 128));
    file.again = is(run, "memory", "block");
    errno = 0;
    const Stopwatch watch;
    const bool good = variant.write(file, array) && (!is(run, "fsync", "yes") || fsync(file.fd) == 0);
    took = watch.took();
    if (!good) {
        const int wrong = errno;
        close(file.fd);
        return nw_fail(run, "%s on %s: %s", variant.name, folder.c_str(),
                       wrong != 0 ? strerror(wrong) : "nothing was written");  // NOLINT: one thread
    }
    return 0;
}

// Reads it back from where knob `cache` says.
int read_once(nw_run* run, const Variant& variant, const std::string& folder, const Array& array, const File& file,
              Times& times) {
    const Cache how = is(run, "cache", "drop")   ? Cache::kDrop
                      : is(run, "cache", "keep") ? Cache::kKeep
                                                 : Cache::kAdvise;
    if (how != Cache::kKeep && (file.fd < 0 || fsync(file.fd) != 0 || !evict(file, how))) {
        return nw_fail(run, "%s: the page cache cannot be emptied: %s", folder.c_str(),
                       strerror(errno));  // NOLINT: one thread
    }
    times.cached = cached_part(file);
    errno = 0;
    const Stopwatch watch;
    const bool good = variant.read(file, array);
    times.read = watch.took();
    return good ? 0
                : nw_fail(run, "%s on %s cannot be read back: %s", variant.name, folder.c_str(),
                          strerror(errno));  // NOLINT: one thread
}

void report_folder(nw_run* run, std::size_t folder, FolderMetric what, double value) {
    nw_report(run, state_of(run).names[folder][what], value);
}

// Two smaller sizes, so that the time for others can be worked out: a sixteenth, or 1 MB where that is less than half,
// and a quarter.
std::int64_t small_count(std::int64_t count) {
    constexpr std::int64_t kMegabyte = 1000000 / static_cast<std::int64_t>(sizeof(double));
    return count > 4 * kMegabyte ? kMegabyte : std::max<std::int64_t>(1, count / 16);
}

std::int64_t middle_count(std::int64_t count) { return std::max<std::int64_t>(1, count / 4); }

int time_smaller(nw_run* run, const Variant& variant, std::size_t folder, FolderMetric what, std::int64_t count) {
    const std::string& place = state_of(run).folders[folder];
    Array part = array_of(run, "data");
    part.count = count;
    File file{};
    Times times;
    if (write_once(run, variant, place, part, file, times.write) != 0) {
        return 1;
    }
    int status = 0;
    if (is(run, "op", "read")) {
        Array back = array_of(run, "back");
        back.count = count;
        status = read_once(run, variant, place, back, file, times);
    }
    close(file.fd);
    report_folder(run, folder, what, (is(run, "op", "read") ? times.read : times.write).seconds);
    return status;
}

}  // namespace

int layout(nw_run* run) {
    auto* state = new State{};
    run->own = state;
    state->folders = folders_of(run);
    if (state->folders.empty() || state->folders.size() > kMostFolders) {
        return nw_fail(run, "folders: from 1 to %zu can be named, separated by ':'", kMostFolders);
    }
    if (is(run, "memory", "block") && static_cast<std::int64_t>(nw_number(run, "row", kPeriod)) % kPeriod != 0) {
        return nw_fail(run, "memory=block takes rows of %lld elements or so many times it",
                       static_cast<long long>(kPeriod));
    }
    const auto count = static_cast<std::uint64_t>(nw_number(run, "kib", 1)) * 1024 / sizeof(double);
    std::string wrong;
    if (!has_space(state->folders, static_cast<double>(count * sizeof(double)), wrong)) {
        return nw_fail(run, "%s", wrong.c_str());
    }
    constexpr const char* kNames[] = {"seconds",        "other_seconds",     "small_seconds",
                                      "middle_seconds", "unmapping_seconds", "user_seconds"};
    for (std::size_t f = 0; f < state->folders.size(); ++f) {
        for (std::size_t what = 0; what < kFolderMetrics; ++what) {
            std::snprintf(state->names[f][what], sizeof state->names[f][what], "f%zu_%s", f + 1, kNames[what]);
        }
    }
    nw_declare(run, "data", NW_F64, NW_INPUT, count);
    nw_declare(run, "back", NW_F64, NW_OUTPUT, count);
    return 0;
}

void release(nw_run* run) {
    auto* state = static_cast<State*>(run->own);
    if (state != nullptr) {
        close_files(*state);
    }
    delete state;
    run->own = nullptr;
}

// Nothing of the last run is left: no file that is written over, and no element that was not read.
int reset(nw_run* run) {
    State& state = state_of(run);
    close_files(state);
    state.variant = nullptr;
    const Array back = array_of(run, "back");
    std::fill_n(back.data, back.count, std::numeric_limits<double>::quiet_NaN());
    return 0;
}

int prepare_variant(nw_run* run, const Variant& variant) {
    State& state = state_of(run);
    const Array array = array_of(run, "data");
    std::string wrong;
    if (!has_space(state.folders, variant.growth * static_cast<double>(array.count) * sizeof(double), wrong)) {
        return nw_fail(run, "%s", wrong.c_str());
    }
    for (std::size_t f = 0; f < state.folders.size(); ++f) {
        // what a variant makes when it first runs is not timed
        if (time_smaller(run, variant, f, kSmall, 1) != 0 ||
            time_smaller(run, variant, f, kSmall, small_count(array.count)) != 0 ||
            time_smaller(run, variant, f, kMiddle, middle_count(array.count)) != 0) {
            return 1;
        }
    }
    nw_report(run, "small_bytes", static_cast<double>(small_count(array.count)) * sizeof(double));
    nw_report(run, "middle_bytes", static_cast<double>(middle_count(array.count)) * sizeof(double));
    return 0;
}

int run_variant(nw_run* run, const Variant& variant) {
    State& state = state_of(run);
    const Array array = array_of(run, "data");
    const Array back = array_of(run, "back");
    const bool reads = is(run, "op", "read");
    double all = 0;
    double cached = 0;
    for (std::size_t f = 0; f < state.folders.size(); ++f) {
        File file{};
        Times times;
        if (write_once(run, variant, state.folders[f], array, file, times.write) != 0) {
            return 1;
        }
        state.files.push_back(file);
        double unmapping = file.unmapping;
        if (read_once(run, variant, state.folders[f], back, file, times) != 0) {
            return 1;
        }
        unmapping = reads ? file.unmapping : unmapping;
        state.files.back().used = file.used;
        const Took& asked = reads ? times.read : times.write;
        all += asked.seconds;
        cached += times.cached;
        report_folder(run, f, kSeconds, asked.seconds);
        report_folder(run, f, kUser, asked.user);
        report_folder(run, f, kOther, (reads ? times.write : times.read).seconds);
        if (unmapping > 0) {
            report_folder(run, f, kUnmapping, unmapping);
        }
    }
    state.variant = &variant;
    nw_report(run, "cached", cached / static_cast<double>(state.folders.size()));
    // in place of the worker's clock, which has seen the rest, too
    nw_report(run, "seconds", all);
    return 0;
}

// What was read back, and each file itself by another reader. A peer leaves no files.
int check(nw_run* run) {
    const State& state = state_of(run);
    const Array want = array_of(run, "data");
    const Array back = array_of(run, "back");
    // memory that was read into again and again has what came last, and the array repeats; a peer reads all of it
    const std::int64_t used = state.variant != nullptr ? state.files.back().used / kElementBytes : 0;
    for (std::int64_t i = 0; i < (used > 0 ? std::min(used, want.count) : want.count); ++i) {
        if (!same(want.data[i], back.data[i])) {
            return nw_fail(run, "element %lld is read back as another one", static_cast<long long>(i));
        }
    }
    for (std::size_t f = 0; state.variant != nullptr && f < state.files.size(); ++f) {
        std::string wrong;
        if (!holds(state.files[f], state.variant->format, want, wrong)) {
            return nw_fail(run, "%s: %s", state.folders[f].c_str(), wrong.c_str());
        }
    }
    return 0;
}

// The array's bytes, in each folder, whatever a variant makes of them.
void work(const nw_run* run, nw_work* out) {
    const double bytes = static_cast<double>(run->buffers[0].count * sizeof(double) * state_of(run).folders.size());
    *out = {bytes, 0, is(run, "op", "read") ? bytes : 0, is(run, "op", "read") ? 0 : bytes};
}

// The limit: each byte is moved once, as it is between a program and the page cache.
int copy_in_memory(nw_run* run) {
    const Array array = array_of(run, "data");
    const Array back = array_of(run, "back");
    if (array.data == nullptr || back.data == nullptr) {
        return nw_fail(run, "no memory");
    }
    for (std::size_t f = 0; f < state_of(run).folders.size(); ++f) {
        std::memcpy(back.data, array.data, static_cast<std::size_t>(array.count) * sizeof(double));
        asm volatile("" : : "r"(back.data) : "memory");  // each copy is made
    }
    return 0;
}

}  // namespace fileio
