// SPDX-License-Identifier: BSD-3-Clause
#include "worker/study_file.h"

#include <dlfcn.h>

#include <sstream>
#include <stdexcept>

namespace nodewise {
namespace {

#if defined(__x86_64__)
// __builtin_cpu_supports takes literals only; it asks the operating system's support for the registers, too.
bool supports(const std::string& feature) {
    if (feature == "avx2") {
        return __builtin_cpu_supports("avx2") != 0;
    }
    if (feature == "fma") {
        return __builtin_cpu_supports("fma") != 0;
    }
    if (feature == "avx512f") {
        return __builtin_cpu_supports("avx512f") != 0;
    }
    if (feature == "avx512bw") {
        return __builtin_cpu_supports("avx512bw") != 0;
    }
    if (feature == "avx512dq") {
        return __builtin_cpu_supports("avx512dq") != 0;
    }
    if (feature == "avx512vl") {
        return __builtin_cpu_supports("avx512vl") != 0;
    }
    return false;
}
#elif defined(__aarch64__)
bool supports(const std::string& feature) { return feature == "neon"; }
#else
bool supports(const std::string&) { return false; }
#endif

}  // namespace

StudyFile::StudyFile(const std::string& path) : study_(nullptr) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        throw std::runtime_error(std::string("cannot load the study: ") + dlerror());  // NOLINT: one thread
    }
    // POSIX lets a function's address travel as a void*
    auto* entry = reinterpret_cast<const nw_study* (*)()>(dlsym(handle, "nodewise_study"));
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

std::string missing_features(const nw_variant& variant) {
    std::istringstream needs(variant.needs);
    std::string missing;
    for (std::string feature; std::getline(needs, feature, ',');) {
        if (!feature.empty() && !supports(feature)) {
            missing += (missing.empty() ? "" : ",") + feature;
        }
    }
    return missing;
}

}  // namespace nodewise
