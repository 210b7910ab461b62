// SPDX-License-Identifier: BSD-3-Clause
// nodewise-spin SECONDS QUANTUM_US PROCESSOR...: repeats the same work on each of the processors at once, and prints as
// JSON how long each quantum of it took (in nanoseconds) and what was lost to whatever else ran there.
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "json/json.h"
#include "runner/spin.h"

namespace {

using nodewise::Json;
using nodewise::Seen;
using nodewise::Work;

constexpr double kPieceNs = 100;

double now_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// A point in both clocks, by which ticks become nanoseconds.
struct Point {
    std::uint64_t ticks = nodewise::read_ticks();
    double ns = now_ns();
};

double ticks_per_ns(const Point& a, const Point& b) { return static_cast<double>(b.ticks - a.ticks) / (b.ns - a.ns); }

bool bind_to(int processor) {
    const auto count = static_cast<std::size_t>(processor) + 1;
    cpu_set_t* set = CPU_ALLOC(count);
    if (set == nullptr) {
        return false;
    }
    CPU_ZERO_S(CPU_ALLOC_SIZE(count), set);
    CPU_SET_S(static_cast<std::size_t>(processor), CPU_ALLOC_SIZE(count), set);
    const bool bound = sched_setaffinity(0, CPU_ALLOC_SIZE(count), set) == 0;
    CPU_FREE(set);
    return bound;
}

// How long this thread has waited for its processor while another ran there, in nanoseconds; negative where that is not
// shown.
double waited_ns() {
    double ran = 0;
    double waited = 0;
    std::ifstream file("/proc/thread-self/schedstat");
    return file >> ran >> waited ? waited : -1;
}

struct Place {
    int processor = 0;
    bool bound = false;
    Seen seen;
    double waited = -1;
    long involuntary = 0;
};

void work_at(Place& place, const Work& work, std::uint64_t ticks, std::barrier<>& together) {
    place.bound = bind_to(place.processor);
    together.arrive_and_wait();
    if (!place.bound) {
        return;
    }
    rusage before{};
    rusage after{};
    const double waited = waited_ns();
    getrusage(RUSAGE_THREAD, &before);
    nodewise::spin(work, ticks, place.seen);
    getrusage(RUSAGE_THREAD, &after);
    place.waited = waited < 0 ? -1 : waited_ns() - waited;
    place.involuntary = after.ru_nivcsw - before.ru_nivcsw;
}

Json describe(const Place& place, double rate) {
    const Seen& seen = place.seen;
    std::vector<std::uint64_t> quanta;
    quanta.reserve(seen.quanta.size());
    for (const std::uint64_t q : seen.quanta) {
        quanta.push_back(static_cast<std::uint64_t>(std::llround(static_cast<double>(q) / rate)));
    }
    Json lengths = Json::array();
    for (std::size_t i = 0; i < Seen::kLengths; ++i) {
        if (seen.counts[i] > 0) {
            lengths.add(Json::array({std::ldexp(1.0, static_cast<int>(i)) / rate, seen.counts[i],
                                     static_cast<double>(seen.sums[i]) / rate}));
        }
    }
    return {{"processor", place.processor},
            {"seconds", static_cast<double>(seen.end - seen.begin) / rate * 1e-9},
            {"lost_ns", static_cast<double>(seen.lost) / rate},
            {"detours", seen.detours},
            {"longest_ns", static_cast<double>(seen.longest) / rate},
            {"lengths", lengths},
            {"waited_ns", place.waited},
            {"involuntary", place.involuntary},
            {"quanta_ns", quanta}};
}

int fail(const std::string& what) {
    std::cerr << what << '\n';
    return 1;
}

int run(double seconds, double quantum_us, std::vector<Place>& places) {
    if (!bind_to(places.front().processor)) {
        return fail("processor " + std::to_string(places.front().processor));
    }
    const Point first;
    while (now_ns() - first.ns < 2e7) {
    }
    const double rough = ticks_per_ns(first, Point());
    const Work work = nodewise::calibrate(rough, kPieceNs, quantum_us * 1e3);
    // a clock that rises makes more quanta than were planned
    const auto most = static_cast<std::size_t>(2 * seconds * 1e6 / quantum_us) + 16;
    for (Place& place : places) {
        place.seen.quanta.assign(most, 0);
    }
    std::barrier together(static_cast<std::ptrdiff_t>(places.size()));
    const auto ticks = static_cast<std::uint64_t>(seconds * 1e9 * rough);
    std::vector<std::thread> threads;
    threads.reserve(places.size() - 1);
    for (std::size_t i = 1; i < places.size(); ++i) {
        threads.emplace_back([&, i] { work_at(places[i], work, ticks, together); });
    }
    work_at(places.front(), work, ticks, together);
    for (std::thread& thread : threads) {
        thread.join();
    }
    const double rate = ticks_per_ns(first, Point());
    Json found = Json::array();
    for (const Place& place : places) {
        if (!place.bound) {
            return fail("processor " + std::to_string(place.processor));
        }
        found.add(describe(place, rate));
    }
    const Json reply = {{"clock", nodewise::ticks_name()},
                        {"piece_ns", work.piece_ticks / rate},
                        {"steps", work.steps * work.pieces},
                        {"processors", found}};
    std::cout << nodewise::to_text(reply) << '\n';
    return std::cout.flush() ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
    try {
        std::vector<Place> places;
        for (int i = 3; i < count; ++i) {
            places.emplace_back();
            places.back().processor = std::stoi(words[i]);
        }
        const double seconds = count > 1 ? std::stod(words[1]) : 0;
        const double quantum_us = count > 2 ? std::stod(words[2]) : 0;
        if (places.empty() || !(seconds > 0) || !(quantum_us > 0) || seconds * 1e6 / quantum_us > 1e8 ||
            std::any_of(places.begin(), places.end(), [](const Place& p) { return p.processor < 0; })) {
            return fail("usage: nodewise-spin SECONDS QUANTUM_US PROCESSOR...");
        }
        return run(seconds, quantum_us, places);
    } catch (const std::exception& problem) {
        return fail(problem.what());
    }
}
