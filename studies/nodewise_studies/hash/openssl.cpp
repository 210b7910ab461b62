// SPDX-License-Identifier: BSD-3-Clause
// What most programs call: OpenSSL, one buffer after the other in each thread.
#include <dlfcn.h>

#include <atomic>

#include "study.h"

namespace hash {
namespace {

using Digest = int (*)(const void* data, std::size_t count, unsigned char* out, unsigned* size, const void* type,
                       void* engine);
using Type = const void* (*)();

template <class Function>
Function find(nw_run* run, const char* name) {
    return reinterpret_cast<Function>(dlsym(run->library, name));  // POSIX lets a function's address travel as a void*
}

}  // namespace

int prepare_openssl(nw_run* run) {
    constexpr const char* kTypes[kFunctions] = {"EVP_md5", "EVP_sha1", "EVP_sha256", "EVP_sha512"};
    const char* name = kTypes[static_cast<std::size_t>(state(run).function)];
    const auto type = find<Type>(run, name);
    if (type == nullptr || find<Digest>(run, "EVP_Digest") == nullptr) {
        return nw_fail(run, "the library has no EVP_Digest or no %s", name);
    }
    state(run).peer = type();
    return 0;
}

int openssl(nw_run* run) {
    const State& own = state(run);
    const auto digest = find<Digest>(run, "EVP_Digest");
    std::atomic<int> failed{0};
#pragma omp parallel for schedule(dynamic) num_threads(run->threads)
    for (std::size_t i = 0; i < own.lengths.size(); ++i) {
        const Job one = job(run, i);
        if (digest(one.data, one.size, one.digest, nullptr, own.peer, nullptr) != 1) {
            failed = 1;
        }
    }
    return failed == 0 ? 0 : nw_fail(run, "EVP_Digest refuses %s", shape(own.function).name);
}

}  // namespace hash
