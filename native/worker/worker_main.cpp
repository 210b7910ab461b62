// SPDX-License-Identifier: BSD-3-Clause
// nodewise-worker: runs one variant of a study and prints the sample protocol.
//
//     nodewise-worker STUDY.so --list
//     nodewise-worker STUDY.so --variant NAME [--threads T] [--repeat R] [--seed S] [--storage plain|huge|fast]
//                     [--simd TARGET] [--library FILE] [--mpi LIBRARY --ranks N] [--dump DIR] [--outputs DIR]
//                     [--corrupt NAME:INDEX]
//                     [--pages] [knob=value …]
//     nodewise-worker STUDY.so --work [--ranks N] [knob=value …]
//     nodewise-worker STUDY.so --serve [--threads T] [--seed S] [knob=value …]
//     nodewise-worker STUDY.so --helper WORD…
//
// Checked before it is timed and again after; a wrong result prints no time that could be believed. --dump writes every
// input and output as NAME.npy, for a trusted result elsewhere; --corrupt changes one element of an output before the
// check, which has to notice. --simd takes an instruction set of Highway's; --library is that of a peer, or
// NAME=FILE,NAME=FILE of which it takes its own. --pages says
// how many pages of the arrays lie on the NUMA node of the thread whose share they are. --mpi is the library by which
// it joins the other ranks of the job that it was started in; each prints its own part, and dumps it into DIR/RANK
// where there are several. --work says how much there is to do for all ranks, without doing it. --serve is for a peer
// in another program: it writes what work there is as a line of JSON and the inputs as arrays, reads the outputs, and
// judges them. --helper calls the study's own nodewise_helper with the words that follow, for a study that starts other
// processes. NODEWISE_BIND has places such as 0,4:1,5, one for each of the threads that a peer works with.
#include <dlfcn.h>
#include <omp.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"
#include "worker/arrays.h"
#include "worker/bind.h"
#include "worker/options.h"
#include "worker/ranks.h"
#include "worker/run.h"
#include "worker/study_file.h"

namespace {

using nodewise::Json;
using nodewise::missing_features;
using nodewise::Options;
using nodewise::Ranks;
using nodewise::Run;
using nodewise::StudyFile;

// In one piece: a launcher of ranks may pass on what another one has written between a line and its end.
void print_line(std::string line) {
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stdout);
}

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

void corrupt(Run& run, const std::string& where) {
    const std::size_t colon = where.find(':');
    nw_buffer& buffer = run.buffer(where.substr(0, colon));
    const auto index = static_cast<std::uint64_t>(
        nodewise::parse_number("--corrupt", colon == std::string::npos ? "" : where.substr(colon + 1), 0));
    if (index >= buffer.count) {
        throw std::invalid_argument("--corrupt: " + where + " is past the end");
    }
    const std::size_t size = nodewise::size_of(buffer.type);
    auto* bytes = static_cast<unsigned char*>(buffer.data) + index * size;
    // one bit of the lowest byte for integers, of the exponent for floats
    const bool real = buffer.type == NW_F32 || buffer.type == NW_F64;
    bytes[real ? size - 1 : 0] ^= real ? 0x40 : 0x01;
}

// Every array, or those alone that a variant has filled.
void dump(const nw_run& run, const std::string& whole, bool outputs_only) {
    const std::string directory = run.ranks > 1 ? whole + "/" + std::to_string(run.rank) : whole;
    if (run.ranks > 1) {
        std::filesystem::create_directory(directory);
    }
    for (std::size_t i = 0; i < run.buffer_count; ++i) {
        if (run.buffers[i].role == NW_SCRATCH || (outputs_only && run.buffers[i].role != NW_OUTPUT)) {
            continue;
        }
        const std::string path = directory + "/" + run.buffers[i].name + ".npy";
        const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "wb"));
        if (file == nullptr) {
            throw std::runtime_error("cannot write " + path);
        }
        nodewise::write_array(run.buffers[i], file.get());
    }
}

void print(const Json& line) {
    print_line(nodewise::to_text(line));
    std::fflush(stdout);
}

void add_work(Json& line, const nw_work& work) {
    line.set("items", work.items);
    if (work.flops > 0) {
        line.set("flops", work.flops);
    }
    if (work.bytes_read + work.bytes_written > 0) {
        line.set("bytes", work.bytes_read + work.bytes_written);
    }
}

Json describe(const nw_study& study, const nw_variant& variant, const Run& owner, const nw_run& run, double seconds) {
    nw_work work{};
    (variant.work != nullptr ? variant.work : study.work)(&run, &work);
    Json line = {{"seconds", seconds}, {"threads", run.threads}};
    add_work(line, work);
    for (std::size_t i = 0; i < run.metric_count; ++i) {
        line.set(run.metrics[i].name, run.metrics[i].value);
    }
    if (!owner.memory().fast()) {
        line.set("fast_memory", 0);
    }
    if (variant.kind != NW_LIMIT) {
        line.set("verified", true);
    }
    return line;
}

// The file of a library, from NAME=FILE,NAME=FILE or FILE.
std::string file_of_library(const std::string& name, const std::string& given) {
    std::istringstream parts(given);
    for (std::string part; std::getline(parts, part, ',');) {
        if (part.compare(0, name.size() + 1, name + "=") == 0) {
            return part.substr(name.size() + 1);
        }
    }
    return given;
}

// Opened for good: what a library starts may outlive us.
void* open_library(const nw_variant& variant, const std::string& given) {
    if (variant.library == nullptr) {
        return nullptr;
    }
    const std::string path = file_of_library(variant.library, given);
    if (path.empty()) {
        throw std::runtime_error(std::string(variant.name) + " needs --library, the file of " + variant.library);
    }
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) {
        throw std::runtime_error(std::string("cannot load the peer: ") + dlerror());  // NOLINT: one thread
    }
    return handle;
}

// What is done directly before and after the timed part.
struct Around {
    std::function<void()> before = [] {};
    std::function<void()> after = [] {};
};

// Whether the result is wrong on any of the ranks; who found it says so.
bool wrong_anywhere(const nw_study& study, const nw_variant& variant, Run& run, Ranks& ranks) {
    const bool wrong = variant.kind != NW_LIMIT && study.check(run.get()) != 0;
    if (wrong) {
        std::fprintf(stderr, "wrong result of %s: %s\n", variant.name, run.get()->error);
        print_line("{\"nodewise\": 1, \"verified\": false}");
    }
    double any = wrong ? 1 : 0;
    ranks.largest(&any, 1);
    return any > 0;
}

// Seconds of one repetition, or less than 0 where its result is wrong. All ranks begin together.
double once(const nw_study& study, const nw_variant& variant, const Options& options, Run& run, Ranks& ranks,
            const Around& around) {
    if (study.reset != nullptr) {
        run.must(study.reset(run.get()), "reset");
    }
    around.before();
    ranks.barrier();
    const auto begin = std::chrono::steady_clock::now();
    run.must(variant.run(run.get()), "run");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    around.after();
    if (!options.corrupt.empty() && ranks.rank() == ranks.count() - 1) {
        corrupt(run, options.corrupt);
    }
    return wrong_anywhere(study, variant, run, ranks) ? -1.0 : took.count();
}

// A run, or as many as it takes to see who works, with the threads of a peer watched; then they are bound one by one as
// NODEWISE_BIND says. False where its result is wrong.
bool bind_peer(const std::function<double(const Around&)>& run_once, nodewise::Binder& binder, Run& run) {
    constexpr double kWatchedSeconds = 0.02;
    constexpr int kMostRuns = 10;
    double watched = 0;
    for (int i = 0; i < kMostRuns && watched < kWatchedSeconds; ++i) {
        const double seconds = run_once({[&] { binder.begin(); }, [&] { binder.end(); }});
        if (seconds < 0) {
            return false;
        }
        watched += seconds;
    }
    nw_report(run.get(), "bound", binder.bind());
    binder.free_first();
    return true;
}

int run_joined(const nw_study& study, const nw_variant& variant, const Options& options, Ranks& ranks) {
    Run run(study, options, ranks);
    omp_set_num_threads(run.get()->threads);
    run.fill();
    run.get()->library = open_library(variant, options.library);
    if (variant.prepare != nullptr) {
        run.must(variant.prepare(run.get()), "prepare");
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment
    nodewise::Binder binder(variant.kind == NW_PEER ? nodewise::places_asked(std::getenv("NODEWISE_BIND"))
                                                    : std::vector<cpu_set_t>{});
    const auto run_once = [&](const Around& around) { return once(study, variant, options, run, ranks, around); };
    const Around timed = {[&] { binder.ready(); }, [&] { binder.free_first(); }};
    if (binder.asked() && !bind_peer(run_once, binder, run)) {
        return 1;
    }
    // the first run in its places warms up and is checked; each timed one is checked after its clock has stopped
    if (run_once(timed) < 0) {
        return 1;
    }
    for (int i = 0; i < options.repeat; ++i) {
        const double seconds = run_once(timed);
        if (seconds < 0) {
            return 1;
        }
        print_line(nodewise::protocol_line(describe(study, variant, run, *run.get(), seconds)));
    }
    if (options.pages) {
        const nodewise::PagesSeen seen = run.pages();
        print({{"pages", seen.pages}, {"local", seen.local}, {"by_node", seen.by_node}});
    }
    if (!options.dump.empty()) {
        dump(*run.get(), options.dump, false);
    }
    if (!options.outputs.empty()) {
        dump(*run.get(), options.outputs, true);
    }
    return 0;
}

int run_variant(const StudyFile& file, const Options& options) {
    const nw_variant& variant = file.variant(options.variant);
    if (const std::string missing = missing_features(variant); !missing.empty()) {
        throw std::runtime_error(options.variant + " needs " + missing + ", which this processor lacks");
    }
    const std::unique_ptr<Ranks> ranks = nodewise::join_ranks(options.mpi, options.ranks);
    const int code = run_joined(file.study(), variant, options, *ranks);
    std::fflush(stdout);
    ranks->leave();
    return code;
}

int print_work(const StudyFile& file, const Options& options) {
    nw_work all{};
    double working_set = 0;
    for (int rank = 0; rank < options.ranks; ++rank) {
        const std::unique_ptr<Ranks> ranks = nodewise::lone_rank(rank, options.ranks);
        Run run(file.study(), options, *ranks);
        nw_work work{};
        file.study().work(run.get(), &work);
        all.items += work.items;
        all.flops += work.flops;
        all.bytes_read += work.bytes_read;
        all.bytes_written += work.bytes_written;
        working_set += run.working_set();
    }
    Json line = Json::object();
    add_work(line, all);
    line.set("working_set", working_set);
    print(line);
    return 0;
}

int serve(const StudyFile& file, const Options& options) {
    const nw_study& study = file.study();
    Ranks alone;
    Run run(study, options, alone);
    omp_set_num_threads(run.get()->threads);
    run.fill();
    if (study.reset != nullptr) {
        run.must(study.reset(run.get()), "reset");
    }
    nw_work work{};
    study.work(run.get(), &work);
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    for (std::size_t i = 0; i < run.get()->buffer_count; ++i) {
        const nw_buffer& buffer = run.get()->buffers[i];
        if (buffer.role != NW_SCRATCH) {
            (buffer.role == NW_INPUT ? inputs : outputs).emplace_back(buffer.name);
        }
    }
    Json names = {{"inputs", inputs}, {"outputs", outputs}};
    add_work(names, work);
    print(names);
    for (const std::string& name : inputs) {
        nodewise::write_array(run.buffer(name), stdout);
    }
    for (const std::string& name : outputs) {
        nodewise::read_array(run.buffer(name), stdin);
    }
    if (study.check(run.get()) != 0) {
        print({{"wrong", run.get()->error}});
        return 1;
    }
    print({{"verified", true}});
    return 0;
}

int list(const StudyFile& file) {
    Json variants = Json::array();
    for (std::size_t i = 0; i < file.study().variant_count; ++i) {
        const nw_variant& v = file.study().variants[i];
        const char* kinds[] = {"variant", "limit", "peer"};
        variants.add({{"name", v.name},
                      {"kind", kinds[v.kind]},
                      {"needs", v.needs != nullptr ? v.needs : ""},
                      {"missing", missing_features(v)},
                      {"library", v.library != nullptr ? Json(v.library) : Json()}});
    }
    print({{"study", file.study().name}, {"variants", variants}, {"simd", file.simd_targets()}});
    return 0;
}

}  // namespace

int main(int count, char** words) {
    constexpr int kHelperWords = 3;  // what stands before the helper's own
    try {
        if (count >= kHelperWords && std::string_view(words[2]) == "--helper") {
            return StudyFile(words[1]).help(count - kHelperWords, words + kHelperWords);
        }
        const Options options = nodewise::parse_options({words + 1, words + count});
        const StudyFile file(options.file);
        if (!options.simd.empty()) {
            file.choose_simd(options.simd);
        }
        if (options.list) {
            return list(file);
        }
        if (options.work) {
            return print_work(file, options);
        }
        return options.serve ? serve(file, options) : run_variant(file, options);
    } catch (const std::invalid_argument& problem) {
        std::fprintf(stderr, "nodewise-worker: %s\n", problem.what());
        return 2;
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "nodewise-worker: %s\n", problem.what());
        return 1;
    }
}
