// SPDX-License-Identifier: BSD-3-Clause
// nodewise-worker: runs one variant of a study and prints the sample protocol.
//
//     nodewise-worker STUDY.so --list
//     nodewise-worker STUDY.so --variant NAME [--threads T] [--repeat R] [--seed S] [--dump DIR] [--corrupt NAME:INDEX]
//                     [--pages] [knob=value …]
//
// Checked before it is timed and again after; a wrong result prints no time that could be believed. --dump writes every
// input and output as raw numbers, for a trusted result elsewhere; --corrupt changes one element of an output before
// the check, which has to notice. --pages says how many pages of the arrays lie on the memory node of the thread whose
// share they are: each array is touched first by the threads, in equal neighbouring parts, on the places that they are
// bound to.
#include <omp.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "worker/first_touch.h"
#include "worker/study_file.h"

namespace {

using nlohmann::json;
using nodewise::missing_features;
using nodewise::StudyFile;

struct Options {
    std::string file;
    std::string variant;
    bool list = false;
    bool pages = false;
    int threads = 0;
    int repeat = 1;
    std::uint64_t seed = 0;
    std::string dump;
    std::string corrupt;
    std::vector<std::pair<std::string, std::string>> knobs;
};

long number(const std::string& option, const std::string& text, long least) {
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || value < least) {
        throw std::invalid_argument(option + " takes a number from " + std::to_string(least) + ", not '" + text + "'");
    }
    return value;
}

Options parse(const std::vector<std::string>& words) {
    Options options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const auto value = [&]() -> const std::string& {
            if (++i >= words.size()) {
                throw std::invalid_argument(word + " takes a value");
            }
            return words[i];
        };
        if (word == "--list") {
            options.list = true;
        } else if (word == "--pages") {
            options.pages = true;
        } else if (word == "--variant") {
            options.variant = value();
        } else if (word == "--threads") {
            options.threads = static_cast<int>(number(word, value(), 1));
        } else if (word == "--repeat") {
            options.repeat = static_cast<int>(number(word, value(), 1));
        } else if (word == "--seed") {
            options.seed = static_cast<std::uint64_t>(number(word, value(), 0));
        } else if (word == "--dump") {
            options.dump = value();
        } else if (word == "--corrupt") {
            options.corrupt = value();
        } else if (const std::size_t sign = word.find('='); sign != std::string::npos && word[0] != '-') {
            options.knobs.emplace_back(word.substr(0, sign), word.substr(sign + 1));
        } else if (options.file.empty() && word[0] != '-') {
            options.file = word;
        } else {
            throw std::invalid_argument("unknown argument " + word);
        }
    }
    if (options.file.empty() || (options.variant.empty() && !options.list)) {
        throw std::invalid_argument("usage: nodewise-worker STUDY.so (--list | --variant NAME [knob=value …])");
    }
    return options;
}

std::size_t size_of(nw_type type) {
    switch (type) {
        case NW_U8:
            return 1;
        case NW_I32:
        case NW_F32:
            return 4;
        default:
            return 8;
    }
}

// The run's arrays and the study's own memory, released at the end.
class Run {
  public:
    Run(const nw_study& study, const Options& options) : study_(study) {
        for (const auto& [name, text] : options.knobs) {
            knobs_.push_back({name.c_str(), text.c_str(), std::strtod(text.c_str(), nullptr)});
        }
        run_.threads = options.threads > 0 ? options.threads : omp_get_max_threads();
        run_.seed = options.seed;
        run_.knobs = knobs_.data();
        run_.knob_count = knobs_.size();
        must(study.layout(&run_), "layout");
        for (std::size_t i = 0; i < run_.buffer_count; ++i) {
            nw_buffer& buffer = run_.buffers[i];
            // through malloc's own door, so that allocator settings apply; never zero bytes
            const std::size_t bytes = (buffer.count * size_of(buffer.type) + 127) / 64 * 64;
            buffer.data = std::aligned_alloc(64, bytes);
            if (buffer.data == nullptr) {
                throw std::runtime_error("not enough memory for " + std::string(buffer.name) + ": " +
                                         std::to_string(bytes) + " bytes");
            }
        }
    }
    ~Run() {
        if (study_.release != nullptr) {
            study_.release(&run_);
        }
        for (std::size_t i = 0; i < run_.buffer_count; ++i) {
            std::free(run_.buffers[i].data);
        }
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    nw_run* get() { return &run_; }

    void must(int status, const char* step) const {
        if (status != 0) {
            throw std::runtime_error(std::string(step) + ": " + (run_.error[0] != '\0' ? run_.error : "failed"));
        }
    }

    // Before anything else writes to the arrays: pages go where they are first touched.
    void touch() {
        for (std::size_t i = 0; i < run_.buffer_count; ++i) {
            const nw_buffer& buffer = run_.buffers[i];
            nodewise::first_touch(buffer.data, buffer.count * size_of(buffer.type), run_.threads);
        }
    }

    [[nodiscard]] nodewise::PagesSeen pages() const {
        nodewise::PagesSeen all;
        for (std::size_t i = 0; i < run_.buffer_count; ++i) {
            const nw_buffer& buffer = run_.buffers[i];
            all += nodewise::see_pages(buffer.data, buffer.count * size_of(buffer.type), run_.threads);
        }
        return all;
    }

    nw_buffer& buffer(const std::string& name) {
        for (std::size_t i = 0; i < run_.buffer_count; ++i) {
            if (name == run_.buffers[i].name) {
                return run_.buffers[i];
            }
        }
        throw std::invalid_argument("the study has no buffer " + name);
    }

  private:
    const nw_study& study_;
    std::vector<nw_knob> knobs_;
    nw_run run_{};
};

void corrupt(Run& run, const std::string& where) {
    const std::size_t colon = where.find(':');
    nw_buffer& buffer = run.buffer(where.substr(0, colon));
    const auto index =
        static_cast<std::uint64_t>(number("--corrupt", colon == std::string::npos ? "" : where.substr(colon + 1), 0));
    if (index >= buffer.count) {
        throw std::invalid_argument("--corrupt: " + where + " is past the end");
    }
    auto* bytes = static_cast<unsigned char*>(buffer.data) + index * size_of(buffer.type);
    // one bit of the lowest byte for integers, of the exponent for floats
    const bool real = buffer.type == NW_F32 || buffer.type == NW_F64;
    bytes[real ? size_of(buffer.type) - 1 : 0] ^= real ? 0x40 : 0x01;
}

void dump(const nw_run& run, const std::string& directory) {
    for (std::size_t i = 0; i < run.buffer_count; ++i) {
        const nw_buffer& buffer = run.buffers[i];
        if (buffer.role == NW_SCRATCH) {
            continue;
        }
        std::ofstream file(directory + "/" + buffer.name + ".bin", std::ios::binary);
        file.write(static_cast<const char*>(buffer.data),
                   static_cast<std::streamsize>(buffer.count * size_of(buffer.type)));
        if (!file.flush()) {
            throw std::runtime_error("cannot write " + directory + "/" + buffer.name + ".bin");
        }
    }
}

void print(const json& line) { std::printf("%s\n", line.dump().c_str()); }

json describe(const nw_study& study, const nw_variant& variant, const nw_run& run, double seconds) {
    nw_work work{};
    study.work(&run, &work);
    // the protocol's mark comes first in its line, which a sorted object would not keep
    json line = {{"seconds", seconds}, {"items", work.items}, {"threads", run.threads}};
    if (work.flops > 0) {
        line["flops"] = work.flops;
    }
    if (work.bytes_read + work.bytes_written > 0) {
        line["bytes"] = work.bytes_read + work.bytes_written;
    }
    if (variant.kind == NW_VARIANT) {
        line["verified"] = true;
    }
    return line;
}

int run_variant(const Options& options) {
    const StudyFile file(options.file);
    const nw_study& study = file.study();
    const nw_variant& variant = file.variant(options.variant);
    if (const std::string missing = missing_features(variant); !missing.empty()) {
        throw std::runtime_error(options.variant + " needs " + missing + ", which this processor lacks");
    }
    Run run(study, options);
    omp_set_num_threads(run.get()->threads);
    run.touch();
    run.must(study.fill(run.get()), "fill");
    const bool checked = variant.kind == NW_VARIANT;
    const auto once = [&] {
        run.must(study.reset(run.get()), "reset");
        const auto begin = std::chrono::steady_clock::now();
        run.must(variant.run(run.get()), "run");
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        if (!options.corrupt.empty()) {
            corrupt(run, options.corrupt);
        }
        if (checked && study.check(run.get()) != 0) {
            std::fprintf(stderr, "wrong result of %s: %s\n", variant.name, run.get()->error);
            std::printf("{\"nodewise\": 1, \"verified\": false}\n");
            return -1.0;
        }
        return took.count();
    };
    // the first run warms up and is checked; each timed one is checked after its clock has stopped
    if (once() < 0) {
        return 1;
    }
    for (int i = 0; i < options.repeat; ++i) {
        const double seconds = once();
        if (seconds < 0) {
            return 1;
        }
        const std::string line = describe(study, variant, *run.get(), seconds).dump();
        std::printf("{\"nodewise\": 1, %s\n", line.c_str() + 1);
    }
    if (options.pages) {
        const nodewise::PagesSeen seen = run.pages();
        print({{"pages", seen.pages}, {"local", seen.local}, {"by_node", seen.by_node}});
    }
    if (!options.dump.empty()) {
        dump(*run.get(), options.dump);
    }
    return 0;
}

int list(const Options& options) {
    const StudyFile file(options.file);
    json variants = json::array();
    for (std::size_t i = 0; i < file.study().variant_count; ++i) {
        const nw_variant& v = file.study().variants[i];
        variants.push_back({{"name", v.name},
                            {"kind", v.kind == NW_LIMIT ? "limit" : "variant"},
                            {"needs", v.needs},
                            {"missing", missing_features(v)}});
    }
    print({{"study", file.study().name}, {"variants", variants}});
    return 0;
}

}  // namespace

int main(int count, char** words) {
    try {
        const Options options = parse({words + 1, words + count});
        return options.list ? list(options) : run_variant(options);
    } catch (const std::invalid_argument& problem) {
        std::fprintf(stderr, "nodewise-worker: %s\n", problem.what());
        return 2;
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "nodewise-worker: %s\n", problem.what());
        return 1;
    }
}
