// SPDX-License-Identifier: BSD-3-Clause
// The functions of the study's table (see abi/kernel.h for what each promises), and the buffers that they work on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "abi/kernel.h"
#include "engine.h"

namespace hash {

// What the study keeps between layout and release.
struct State {
    Function function = Function::sha256;
    std::uint64_t spacing = 0;  // from one buffer in `data` to the next
    std::vector<std::uint64_t> lengths;
    std::vector<std::uint8_t> expected;
    std::vector<std::vector<Job>> shares;  // each thread's
    std::unique_ptr<Plan> plan;
    std::vector<std::uint8_t*> chunks;  // of the producers
    const void* peer = nullptr;         // OpenSSL's EVP_MD
    std::uint8_t* managers = nullptr;   // isa-l_crypto's, of each thread
};

inline State& state(nw_run* run) { return *static_cast<State*>(run->own); }
inline const std::uint8_t* data(const nw_run* run) { return static_cast<const std::uint8_t*>(run->buffers[0].data); }
inline std::uint8_t* digests(nw_run* run) { return static_cast<std::uint8_t*>(run->buffers[2].data); }

// Buffer i, and where its digest goes.
Job job(nw_run* run, std::size_t i);

// The buffers dealt out to the threads, the longest first.
void share(nw_run* run);

int layout(nw_run* run);
int fill(nw_run* run);
int reset(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);
void release(nw_run* run);

int prepare_stream(nw_run* run);
int prepare_instructions(nw_run* run);
int prepare_lanes(nw_run* run);
int prepare_best(nw_run* run);
int hash_all(nw_run* run);
int prepare_pipeline(nw_run* run);
int pipeline(nw_run* run);
int prepare_openssl(nw_run* run);
int openssl(nw_run* run);
int prepare_isal_crypto(nw_run* run);
int isal_crypto(nw_run* run);

}  // namespace hash
