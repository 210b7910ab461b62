// SPDX-License-Identifier: BSD-3-Clause
// Producers at a limited speed, each with one chunk of memory, and one consumer that hashes whatever is ready: all full
// chunks in one batch, which are then writable again.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "study.h"

namespace hash {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Chunk {
    std::uint8_t* memory = nullptr;
    std::size_t buffer = 0;  // whose contents it holds
    bool ready = false;
};

struct Shared {
    std::mutex guard;
    std::condition_variable filled;
    std::condition_variable writable;
    std::vector<Chunk> chunks;
    std::size_t producing = 0;
    std::atomic<std::size_t> next{0};
};

struct Busy {
    double seconds = 0;
    double bytes = 0;
    double batches = 0;
};

// Fills the chunk with one buffer after the other: what a network or disk of that speed would bring.
void produce(nw_run* run, Shared& shared, Chunk& chunk, double bytes_per_second) {
    const auto begin = Clock::now();
    double due = 0;
    for (std::size_t i = shared.next++; i < state(run).lengths.size(); i = shared.next++) {
        {
            std::unique_lock lock(shared.guard);
            shared.writable.wait(lock, [&] { return !chunk.ready; });
        }
        const Job from = job(run, i);
        if (bytes_per_second > 0) {
            // the speed is an upper limit: time lost in waiting is not caught up
            due = std::max(due, seconds_since(begin)) + static_cast<double>(from.size) / bytes_per_second;
            std::this_thread::sleep_until(
                begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(due)));
        }
        if (from.size > 0) {
            std::memcpy(chunk.memory, from.data, from.size);
        }
        const std::lock_guard lock(shared.guard);
        chunk.buffer = i;
        chunk.ready = true;
        shared.filled.notify_one();
    }
    const std::lock_guard lock(shared.guard);
    --shared.producing;
    shared.filled.notify_one();
}

Busy consume(nw_run* run, Shared& shared) {
    Busy busy;
    std::vector<Job> batch;
    std::vector<Chunk*> taken;
    while (true) {
        batch.clear();
        taken.clear();
        {
            std::unique_lock lock(shared.guard);
            shared.filled.wait(lock, [&] {
                for (Chunk& chunk : shared.chunks) {
                    if (chunk.ready) {
                        taken.push_back(&chunk);
                    }
                }
                return !taken.empty() || shared.producing == 0;
            });
        }
        if (taken.empty()) {
            return busy;
        }
        const auto begin = Clock::now();
        for (const Chunk* chunk : taken) {
            Job one = job(run, chunk->buffer);
            one.data = chunk->memory;
            batch.push_back(one);
            busy.bytes += static_cast<double>(one.size);
        }
        hash_jobs(*state(run).plan, batch.data(), batch.size());
        busy.seconds += seconds_since(begin);
        busy.batches += 1;
        const std::lock_guard lock(shared.guard);
        for (Chunk* chunk : taken) {
            chunk->ready = false;
        }
        shared.writable.notify_all();
    }
}

}  // namespace

int prepare_pipeline(nw_run* run) {
    State& own = state(run);
    own.plan = std::make_unique<Plan>(make_plan(own.function, all_engines(own.function)));
    const auto producers = static_cast<std::size_t>(nw_number(run, "producers", 1));
    const auto size = static_cast<std::size_t>(nw_number(run, "chunk-size", 1 << 20));
    own.chunks.clear();
    for (std::size_t i = 0; i < producers; ++i) {
        void* memory = run->memory(run, size, NW_HUGE);
        if (memory == nullptr) {
            return 1;
        }
        own.chunks.push_back(static_cast<std::uint8_t*>(memory));
    }
    return 0;
}

int pipeline(nw_run* run) {
    constexpr double kMega = 1e6;
    constexpr double kMebi = 1 << 20;
    const double speed = nw_number(run, "speed", 0);
    const auto begin = Clock::now();
    Shared shared;
    for (std::uint8_t* memory : state(run).chunks) {
        shared.chunks.push_back({memory, 0, false});
    }
    shared.producing = shared.chunks.size();
    std::vector<std::thread> producers;
    producers.reserve(shared.chunks.size());
    for (Chunk& chunk : shared.chunks) {
        producers.emplace_back([run, &shared, &chunk, speed] { produce(run, shared, chunk, speed); });
    }
    const Busy busy = consume(run, shared);
    for (std::thread& producer : producers) {
        producer.join();
    }
    const double elapsed = seconds_since(begin);
    nw_report(run, "elapsed_s", elapsed);
    nw_report(run, "consumer_usage_percent", 100 * busy.seconds / elapsed);
    nw_report(run, "hash_mb_per_s", busy.bytes / busy.seconds / kMega);
    nw_report(run, "hash_mib_per_s", busy.bytes / busy.seconds / kMebi);
    nw_report(run, "buffers_a_batch", static_cast<double>(state(run).lengths.size()) / busy.batches);
    return 0;
}

}  // namespace hash
