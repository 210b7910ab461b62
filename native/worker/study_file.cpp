// SPDX-License-Identifier: BSD-3-Clause
#include "worker/study_file.h"

#include <dlfcn.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace nodewise {
namespace {

#if defined(__x86_64__)
// Restricted transactional memory, which not all compilers know by a name, and which a processor can have but always
// abort.
bool has_rtm() {
    constexpr unsigned kFeatures = 7;
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    constexpr unsigned kRtm = 1U << 11;           // in EBX
    constexpr unsigned kAlwaysAborts = 1U << 11;  // in EDX
    return __get_cpuid_count(kFeatures, 0, &a, &b, &c, &d) != 0 && (b & kRtm) != 0 && (d & kAlwaysAborts) == 0;
}

// __builtin_cpu_supports takes literals only; it asks the operating system's support for the registers, too.
bool supports(const std::string& feature) {
    const std::pair<const char*, bool> known[] = {
        {"avx2", __builtin_cpu_supports("avx2") != 0},
        {"fma", __builtin_cpu_supports("fma") != 0},
        {"avx512f", __builtin_cpu_supports("avx512f") != 0},
        {"avx512bw", __builtin_cpu_supports("avx512bw") != 0},
        {"rtm", has_rtm()},
        {"avx512dq", __builtin_cpu_supports("avx512dq") != 0},
        {"avx512vl", __builtin_cpu_supports("avx512vl") != 0},
    };
    return std::any_of(std::begin(known), std::end(known),
                       [&](const auto& k) { return feature == k.first && k.second; });
}
#elif defined(__aarch64__)
bool supports(const std::string& feature) { return feature == "neon"; }
#else
bool supports(const std::string&) { return false; }
#endif

}  // namespace

StudyFile::StudyFile(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)), study_(nullptr) {
    if (handle_ == nullptr) {
        throw std::runtime_error(std::string("cannot load the study: ") + dlerror());  // NOLINT: one thread
    }
    // POSIX lets a function's address travel as a void*
    auto* entry = reinterpret_cast<const nw_study* (*)()>(dlsym(handle_, "nodewise_study"));
    if (entry == nullptr) {
        throw std::runtime_error(path + " is no study: it has no nodewise_study");
    }
    study_ = entry();
    if (study_->abi != NW_ABI) {
        throw std::runtime_error(path + " has ABI " + std::to_string(study_->abi) + ", this worker " +
                                 std::to_string(NW_ABI) + ": build it again");
    }
}

const nw_variant& StudyFile::variant(const std::string& name) const {
    std::string known;
    for (std::size_t i = 0; i < study_->variant_count; ++i) {
        if (name == study_->variants[i].name) {
            return study_->variants[i];
        }
        known += (i > 0 ? ", " : "") + std::string(study_->variants[i].name);
    }
    throw std::runtime_error("unknown variant " + name + "; there are " + known);
}

std::vector<std::string> StudyFile::simd_targets() const {
    auto* targets_of = reinterpret_cast<const char* (*)()>(dlsym(handle_, "nodewise_simd_targets"));
    std::istringstream names(targets_of != nullptr ? targets_of() : "");
    std::vector<std::string> targets;
    for (std::string name; names >> name;) {
        targets.push_back(name);
    }
    return targets;
}

void StudyFile::choose_simd(const std::string& target) const {
    auto* choose = reinterpret_cast<int (*)(const char*)>(dlsym(handle_, "nodewise_simd_choose"));
    if (choose == nullptr || choose(target.c_str()) != 0) {
        std::string known;
        for (const std::string& name : simd_targets()) {
            known += " " + name;
        }
        throw std::invalid_argument("--simd: there is no " + target + " here; there are:" + known);
    }
}

int StudyFile::help(int count, char** words) const {
    auto* helper = reinterpret_cast<int (*)(int, char**)>(dlsym(handle_, "nodewise_helper"));
    if (helper == nullptr) {
        throw std::invalid_argument("the study has no helper: it exports no nodewise_helper");
    }
    return helper(count, words);
}

std::string missing_features(const nw_variant& variant) {
    std::istringstream needs(variant.needs != nullptr ? variant.needs : "");
    std::string missing;
    for (std::string feature; std::getline(needs, feature, ',');) {
        // what Highway compiles for everything that there is, can run
        if (!feature.empty() && feature != "simd" && !supports(feature)) {
            missing += (missing.empty() ? "" : ",") + feature;
        }
    }
    return missing;
}

}  // namespace nodewise
