// SPDX-License-Identifier: BSD-3-Clause
#include "worker/run.h"

#include <omp.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <type_traits>

#include "worker/arrays.h"

namespace nodewise {
namespace {

constexpr double kGib = 1 << 30;

}  // namespace

void* Run::take(nw_run* run, std::size_t bytes, unsigned how) {
    static_assert(std::is_standard_layout_v<Reachable>);
    void* data = reinterpret_cast<Reachable*>(run)->memory->take(bytes, how);
    if (data == nullptr) {
        nw_fail(run, "not enough memory: %zu bytes", bytes);
    }
    return data;
}

Ranks& Run::ranks_of(nw_run* run) { return *reinterpret_cast<Reachable*>(run)->ranks; }

// What a study calls of the ranks.
void Run::offer_ranks(Ranks& ranks) {
    reachable_.ranks = &ranks;
    run_.rank = ranks.rank();
    run_.ranks = ranks.count();
    run_.sum = [](nw_run* run, double* values, std::size_t count) { ranks_of(run).sum(values, count); };
    run_.largest = [](nw_run* run, double* values, std::size_t count) { ranks_of(run).largest(values, count); };
    run_.broadcast = [](nw_run* run, void* data, std::size_t bytes, int from) {
        ranks_of(run).broadcast(data, bytes, from);
    };
    run_.barrier = [](nw_run* run) { ranks_of(run).barrier(); };
    run_.exchange = [](nw_run* run, const void* out, std::size_t out_bytes, int to, void* in, std::size_t in_bytes,
                       int from) { ranks_of(run).exchange(out, out_bytes, to, in, in_bytes, from); };
}

Run::Run(const nw_study& study, const Options& options, Ranks& ranks) : study_(study) {
    for (const auto& [name, text] : options.knobs) {
        knobs_.push_back({name.c_str(), text.c_str(), std::strtod(text.c_str(), nullptr)});
    }
    reachable_.memory = &memory_;
    run_.threads = options.threads > 0 ? options.threads : omp_get_max_threads();
    run_.seed = options.seed;
    run_.knobs = knobs_.data();
    run_.knob_count = knobs_.size();
    run_.memory = take;
    offer_ranks(ranks);
    must(study.layout(&run_), "layout");
    need_memory();
    unsigned how = options.storage == Storage::plain ? 0 : NW_HUGE;
    how |= options.storage == Storage::fast ? NW_FAST : 0;
    for (std::size_t i = 0; i < run_.buffer_count; ++i) {
        nw_buffer& buffer = run_.buffers[i];
        const std::size_t bytes = buffer.count * size_of(buffer.type);
        buffer.data = memory_.take(bytes, how);
        if (buffer.data == nullptr) {
            throw std::runtime_error("not enough memory for " + std::string(buffer.name) + ": " +
                                     std::to_string(bytes) + " bytes");
        }
    }
}

Run::~Run() {
    if (study_.release != nullptr) {
        study_.release(&run_);
    }
}

// Linux promises more than it has, and ends whoever touches it: so what is too much is refused beforehand.
void Run::need_memory() const {
    double bytes = 0;
    for (std::size_t i = 0; i < run_.buffer_count; ++i) {
        bytes += static_cast<double>(run_.buffers[i].count) * static_cast<double>(size_of(run_.buffers[i].type));
    }
    bytes *= run_.ranks > 1 ? Ranks::on_node() : 1;
    const double there = available_memory();
    if (there > 0 && bytes > there) {
        char text[160];
        std::snprintf(text, sizeof text,
                      "not enough memory: the arrays take %.1f GiB on this node, %.1f GiB are free\nhint: make the "
                      "problem smaller",
                      bytes / kGib, there / kGib);
        throw std::runtime_error(text);
    }
}

void Run::fill() {
    // before anything else writes to the arrays: pages go where they are first touched
    for (std::size_t i = 0; i < run_.buffer_count; ++i) {
        const nw_buffer& buffer = run_.buffers[i];
        first_touch(buffer.data, buffer.count * size_of(buffer.type), run_.threads);
    }
    must(study_.fill(&run_), "fill");
}

void Run::must(int status, const char* step) const {
    if (status != 0) {
        throw std::runtime_error(std::string(step) + ": " + (run_.error[0] != '\0' ? run_.error : "failed"));
    }
}

nw_buffer& Run::buffer(const std::string& name) {
    for (std::size_t i = 0; i < run_.buffer_count; ++i) {
        if (name == run_.buffers[i].name) {
            return run_.buffers[i];
        }
    }
    throw std::invalid_argument("the study has no buffer " + name);
}

double Run::working_set() const {
    double bytes = 0;
    for (std::size_t i = 0; i < run_.buffer_count; ++i) {
        const nw_buffer& buffer = run_.buffers[i];
        const auto size = static_cast<double>(size_of(buffer.type));
        bytes += buffer.role == NW_SCRATCH ? 0 : static_cast<double>(buffer.count) * size;
    }
    return bytes;
}

PagesSeen Run::pages() const {
    PagesSeen all;
    for (std::size_t i = 0; i < run_.buffer_count; ++i) {
        const nw_buffer& buffer = run_.buffers[i];
        all += see_pages(buffer.data, buffer.count * size_of(buffer.type), run_.threads);
    }
    return all;
}

}  // namespace nodewise
