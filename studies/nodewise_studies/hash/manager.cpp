// SPDX-License-Identifier: BSD-3-Clause
// Keeps lanes busy with buffers of any length: each lane's buffer is its whole blocks, then one or two blocks of what
// is left and the padding. All lanes advance to where the first of them ends; that one takes the next buffer.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <numeric>

#include "constants.h"
#include "engine.h"

namespace hash {
namespace {

constexpr Shape kShapes[kFunctions] = {
    {"md5", 64, 4, 4, 16, false},
    {"sha1", 64, 4, 5, 20, true},
    {"sha256", 64, 4, 8, 32, true},
    {"sha512", 128, 8, 8, 64, true},
};

constexpr const void* kFirst[kFunctions] = {kMd5First, kSha1First, kSha256First, kSha512First};

using Tail = std::array<std::uint8_t, 2 * kLongestBlock>;

struct Lane {
    const std::uint8_t* at = nullptr;
    std::uint64_t blocks = 0;  // left here, in the buffer or in its tail
    std::uint64_t tail_blocks = 0;
    const Job* job = nullptr;
    Tail* tail = nullptr;
};

class Lanes {
  public:
    explicit Lanes(const Plan& plan) : plan_(plan), shape_(shape(plan.function)) {
        for (std::size_t i = 0; i < kSlots; ++i) {
            lanes_[i].tail = &tails_[i];
        }
        data_.fill(nullptr);
    }

    std::size_t active() const { return active_; }
    bool full() const { return active_ == plan_.slots; }

    void start(const Job& job) {
        Lane& lane = lanes_[active_];
        const std::uint64_t whole = job.size / shape_.block;
        lane.job = &job;
        lane.at = job.data;
        lane.blocks = whole;
        lane.tail_blocks = pad(*lane.tail, job, whole * shape_.block);
        if (whole == 0) {
            enter_tail(lane);
        }
        const auto* first = static_cast<const std::uint8_t*>(kFirst[static_cast<std::size_t>(plan_.function)]);
        for (std::size_t w = 0; w < shape_.words; ++w) {
            std::memcpy(word(active_, w), first + w * shape_.word, shape_.word);
        }
        ++active_;
    }

    // All lanes by as many blocks as each has; those that end give their digests.
    void advance() {
        std::uint64_t blocks = std::numeric_limits<std::uint64_t>::max();
        for (std::size_t i = 0; i < active_; ++i) {
            blocks = std::min(blocks, lanes_[i].blocks);
        }
        run(blocks);
        for (std::size_t i = active_; i-- > 0;) {
            Lane& lane = lanes_[i];
            lane.at += blocks * shape_.block;
            lane.blocks -= blocks;
            if (lane.blocks == 0 && lane.tail_blocks > 0) {
                enter_tail(lane);
            } else if (lane.blocks == 0) {
                finish(i);
            }
        }
    }

  private:
    std::uint8_t* word(std::size_t lane, std::size_t w) { return state_ + (w * kColumns + lane) * shape_.word; }

    static void enter_tail(Lane& lane) {
        lane.at = lane.tail->data();
        lane.blocks = lane.tail_blocks;
        lane.tail_blocks = 0;
    }

    // What is left of a buffer, a bit, zeros, and its length in bits at the end of a block.
    std::uint64_t pad(Tail& tail, const Job& job, std::uint64_t done) const {
        const std::size_t rest = job.size - done;
        const std::size_t length_bytes = 2 * shape_.word;
        const std::size_t blocks = rest + 1 + length_bytes <= shape_.block ? 1 : 2;
        const std::size_t end = blocks * shape_.block;
        if (rest > 0) {
            std::memcpy(tail.data(), job.data + done, rest);
        }
        tail[rest] = 0x80;
        std::memset(tail.data() + rest + 1, 0, end - rest - 1);
        for (std::size_t i = 0; i < 8; ++i) {
            const auto byte = static_cast<std::uint8_t>(job.size << 3 >> 8 * i);
            tail[shape_.big_endian ? end - 1 - i : end - 8 + i] = byte;
        }
        if (length_bytes == 16) {
            tail[end - 9] = static_cast<std::uint8_t>(job.size >> 61);
        }
        return blocks;
    }

    void run(std::uint64_t blocks) {
        for (std::size_t i = 0; i < active_; ++i) {
            data_[i] = lanes_[i].at;
        }
        for (std::size_t begin = 0; begin < active_;) {
            const Engine& engine = plan_.first[active_ - begin];
            // lanes without a buffer read another's; their columns are nobody's
            for (std::size_t i = active_; i < begin + engine.lanes; ++i) {
                data_[i] = data_[begin];
            }
            engine.run(word(begin, 0), &data_[begin], blocks);
            begin += engine.lanes;
        }
    }

    // The last lane takes the place of the one that ends.
    void finish(std::size_t i) {
        std::uint8_t* out = lanes_[i].job->digest;
        for (std::size_t at = 0; at < shape_.digest; ++at) {
            const std::size_t in_word = at % shape_.word;
            out[at] = word(i, at / shape_.word)[shape_.big_endian ? shape_.word - 1 - in_word : in_word];
        }
        --active_;
        if (i != active_) {
            std::swap(lanes_[i], lanes_[active_]);
            for (std::size_t w = 0; w < shape_.words; ++w) {
                std::memcpy(word(i, w), word(active_, w), shape_.word);
            }
        }
    }

    const Plan& plan_;
    const Shape& shape_;
    std::size_t active_ = 0;
    std::array<Lane, kSlots> lanes_;
    std::array<Tail, kSlots> tails_;
    std::array<const std::uint8_t*, kColumns> data_;
    alignas(64) std::uint8_t state_[8 * kColumns * 8];
};

// Seconds of one call, the best of a few; the first one loads what it needs.
double seconds_of(const Engine& engine, std::size_t blocks, const Shape& shape) {
    alignas(64) std::uint8_t state[8 * kColumns * 8] = {};
    std::vector<std::uint8_t> text(kSlots * blocks * shape.block);
    std::array<const std::uint8_t*, kSlots> data{};
    for (std::size_t i = 0; i < engine.lanes; ++i) {
        data[i] = &text[i * blocks * shape.block];
    }
    double best = std::numeric_limits<double>::max();
    for (int i = 0; i < 8; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        engine.run(state, data.data(), blocks);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        best = std::min(best, took.count());
    }
    return best;
}

}  // namespace

const Shape& shape(Function function) { return kShapes[static_cast<std::size_t>(function)]; }

std::vector<Engine> all_engines(Function function) {
    std::vector<Engine> all = plain_engines(function);
    for (const std::vector<Engine>& more : {instruction_engines(function), lane_engines(function)}) {
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

Plan make_plan(Function function, const std::vector<Engine>& engines) {
    constexpr std::size_t kBlocks = 16;
    std::vector<double> cost;
    cost.reserve(engines.size());
    for (const Engine& engine : engines) {
        cost.push_back(seconds_of(engine, kBlocks, shape(function)));
    }
    Plan plan{function, {}, 1};
    // the least time for n buffers, from that for the fewer that one more call leaves
    std::array<double, kSlots + 1> least{};
    for (std::size_t n = 1; n <= kSlots; ++n) {
        least[n] = std::numeric_limits<double>::max();
        for (std::size_t e = 0; e < engines.size(); ++e) {
            const double all = cost[e] + least[n - std::min(n, engines[e].lanes)];
            if (all < least[n]) {
                least[n] = all;
                plan.first[n] = engines[e];
            }
        }
        // a few hundredths are the clock's
        constexpr double kBetter = 0.97;
        if (least[n] / static_cast<double>(n) < kBetter * least[plan.slots] / static_cast<double>(plan.slots)) {
            plan.slots = n;
        }
    }
    return plan;
}

void hash_jobs(const Plan& plan, const Job* jobs, std::size_t count) {
    // the longest first: lanes that end together leave none idle
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return jobs[a].size != jobs[b].size ? jobs[a].size > jobs[b].size : a < b;
    });
    Lanes lanes(plan);
    for (const std::size_t i : order) {
        while (lanes.full()) {
            lanes.advance();
        }
        lanes.start(jobs[i]);
    }
    while (lanes.active() > 0) {
        lanes.advance();
    }
}

}  // namespace hash
