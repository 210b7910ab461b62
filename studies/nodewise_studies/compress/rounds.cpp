// SPDX-License-Identifier: BSD-3-Clause
// Laying out, the round trip of every block under the library's own clock, and the check byte by byte.
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "corpus.h"
#include "study.h"

namespace compress {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMiB = 1 << 20;

// What a thread keeps from one block to the next, and what it found.
struct Worker {
    std::unique_ptr<Codec> codec;
    std::uint8_t* packed = nullptr;
    std::size_t room = 0;
    double packing_s = 0, unpacking_s = 0, user_s = 0, system_s = 0;
    std::uint64_t packed_bytes = 0;
    const Block* failed = nullptr;
};

struct Task {
    Corpus corpus;
    std::vector<Worker> workers;
    const Window* held = nullptr;  // what of it is in memory
};

Task& task_of(const nw_run* run) { return *static_cast<Task*>(run->own); }

std::uint8_t* bytes_of(const nw_run* run, const char* name) { return static_cast<std::uint8_t*>(nw_data(run, name)); }

std::string text_of(const nw_run* run, const char* knob) {
    const char* text = nw_text(run, knob);
    return text != nullptr ? text : "";
}

std::string where(const Task& task, const Block& block) {
    return task.corpus.files[block.file].path + " at byte " + std::to_string(block.offset);
}

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

void add_times(Worker& worker, double sign) {
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    worker.user_s += sign * seconds_of(used.ru_utime);
    worker.system_s += sign * seconds_of(used.ru_stime);
}

void trip(Worker& worker, const Block& block, const std::uint8_t* in, std::uint8_t* back) {
    const Clock::time_point begin = Clock::now();
    const std::size_t packed = worker.codec->pack(in + block.at, block.size, worker.packed, worker.room);
    const Clock::time_point middle = Clock::now();
    if (packed == 0 || !worker.codec->unpack(worker.packed, packed, back + block.at, block.size)) {
        worker.failed = &block;
    }
    const Clock::time_point end = Clock::now();
    worker.packing_s += std::chrono::duration<double>(middle - begin).count();
    worker.unpacking_s += std::chrono::duration<double>(end - middle).count();
    worker.packed_bytes += packed;
}

// The blocks of a window, each by whichever thread is free.
void trips(const nw_run* run, std::vector<Worker>& workers, const Window& window) {
    const std::uint8_t* in = bytes_of(run, "corpus");
    std::uint8_t* back = bytes_of(run, "back");
#pragma omp parallel num_threads(run->threads)
    {
        Worker& worker = workers[static_cast<std::size_t>(omp_get_thread_num())];
        add_times(worker, -1);
#pragma omp for schedule(dynamic) nowait
        for (std::size_t i = 0; i < window.size(); ++i) {
            trip(worker, window[i], in, back);
        }
        add_times(worker, 1);
    }
}

// Whether every byte is what it was.
int judge(nw_run* run, const Task& task, const Window& window) {
    const std::uint8_t* in = bytes_of(run, "corpus");
    const std::uint8_t* back = bytes_of(run, "back");
    for (const Block& b : window) {
        if (std::memcmp(in + b.at, back + b.at, static_cast<std::size_t>(b.size)) != 0) {
            return nw_fail(run, "what was unpacked is not what was packed: %s", where(task, b).c_str());
        }
    }
    return 0;
}

// Totals of all windows; the threads of a window wait for the slowest.
struct Totals {
    double packing_s = 0, unpacking_s = 0, user_s = 0, system_s = 0;
    std::uint64_t packed_bytes = 0;

    void add(const std::vector<Worker>& workers) {
        double longest_packing = 0, longest_unpacking = 0;
        for (const Worker& w : workers) {
            longest_packing = std::max(longest_packing, w.packing_s);
            longest_unpacking = std::max(longest_unpacking, w.unpacking_s);
            user_s += w.user_s;
            system_s += w.system_s;
            packed_bytes += w.packed_bytes;
        }
        packing_s += longest_packing;
        unpacking_s += longest_unpacking;
    }
};

void report(nw_run* run, const Task& task, const Totals& totals) {
    const auto bytes = static_cast<double>(task.corpus.bytes);
    nw_report(run, "seconds", totals.packing_s);
    nw_report(run, "ratio", bytes / static_cast<double>(totals.packed_bytes));
    nw_report(run, "compress_mbs", bytes / totals.packing_s * 1e-6);
    nw_report(run, "decompress_mbs", bytes / totals.unpacking_s * 1e-6);
    nw_report(run, "user_s", totals.user_s);
    nw_report(run, "system_s", totals.system_s);
    nw_report(run, "files", static_cast<double>(task.corpus.files.size()));
    if (task.corpus.unreadable > 0) {
        nw_report(run, "unreadable_files", static_cast<double>(task.corpus.unreadable));
    }
}

int one_window(nw_run* run, Task& task, const Window& window, Totals& totals) {
    const bool streamed = task.corpus.windows.size() > 1;
    if (streamed) {
        load(task.corpus, window, run->seed, run->threads, bytes_of(run, "corpus"));
        task.held = &window;
    }
    // what is there from the run before must not pass for a result
    std::memset(bytes_of(run, "back"), 0x5a, static_cast<std::size_t>(task.corpus.largest_window));
    for (Worker& w : task.workers) {
        w.packing_s = w.unpacking_s = w.user_s = w.system_s = 0;
        w.packed_bytes = 0;
    }
    trips(run, task.workers, window);
    for (const Worker& w : task.workers) {
        if (w.failed != nullptr) {
            return nw_fail(run, "the library failed on %s", where(task, *w.failed).c_str());
        }
    }
    totals.add(task.workers);
    // what is overwritten next has to be judged now
    return streamed ? judge(run, task, window) : 0;
}

// No exception may pass through the plain C of the interface.
template <typename Step>
int guarded(nw_run* run, Step step) {
    try {
        return step();
    } catch (const std::exception& problem) {
        return nw_fail(run, "%s", problem.what());
    }
}

}  // namespace

int layout(nw_run* run) {
    return guarded(run, [run] {
        auto task = std::make_unique<Task>();
        const std::string files = text_of(run, "file"), folders = text_of(run, "folder");
        const std::string kind = text_of(run, "kind");
        task->corpus = files.empty() && folders.empty()
                           ? generated_files(kind.empty() ? "all" : kind,
                                             static_cast<std::uint64_t>(nw_number(run, "size", 8 * kMiB)))
                           : find_files(files, folders);
        cut(task->corpus, static_cast<std::uint64_t>(nw_number(run, "block", 16 * kMiB)),
            static_cast<std::uint64_t>(nw_number(run, "window", 256) * kMiB));
        nw_declare(run, "corpus", NW_U8, NW_INPUT, task->corpus.largest_window);
        nw_declare(run, "back", NW_U8, NW_OUTPUT, task->corpus.largest_window);
        run->own = task.release();
        return 0;
    });
}

int fill(nw_run* run) {
    return guarded(run, [run] {
        Task& task = task_of(run);
        task.held = task.corpus.windows.data();
        load(task.corpus, *task.held, run->seed, run->threads, bytes_of(run, "corpus"));
        return 0;
    });
}

int open_codecs(nw_run* run, Library library, int level) {
    return guarded(run, [run, library, level] {
        Task& task = task_of(run);
        task.workers.resize(static_cast<std::size_t>(run->threads));
        for (Worker& w : task.workers) {
            w.codec = make_codec(library, run->library, level);
            w.room = w.codec->bound(static_cast<std::size_t>(task.corpus.largest_block));
            w.packed = static_cast<std::uint8_t*>(run->memory(run, w.room, NW_HUGE));
            if (w.packed == nullptr) {
                return 1;
            }
        }
        return 0;
    });
}

int round_trip(nw_run* run) {
    return guarded(run, [run] {
        Task& task = task_of(run);
        Totals totals;
        for (const Window& window : task.corpus.windows) {
            if (one_window(run, task, window, totals) != 0) {
                return 1;
            }
        }
        report(run, task, totals);
        return 0;
    });
}

int check(nw_run* run) {
    const Task& task = task_of(run);
    return judge(run, task, *task.held);
}

// Every byte is read at least once; how many are written is what the variants differ in.
void work(const nw_run* run, nw_work* out) {
    const auto bytes = static_cast<double>(task_of(run).corpus.bytes);
    *out = {bytes, 0, bytes, 0};
}

void release(nw_run* run) { delete static_cast<Task*>(run->own); }

}  // namespace compress
