// SPDX-License-Identifier: BSD-3-Clause
// The functions of the study's table (see abi/kernel.h for what each promises), and what the variants share.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "abi/kernel.h"
#include "scheme.h"

namespace parity {

// Outputs from sources in the bytes from `begin` to `end`: what the variants differ in.
struct Part {
    const std::uint8_t* const* sources;
    std::size_t source_count;
    std::uint8_t* const* outputs;
    std::size_t output_count;
    const std::uint8_t* coefficients;
    const std::uint8_t* tables;
    const std::uint64_t* matrices;  // for Form::any and Form::sum_and_powers
    Form form;
    std::size_t begin;
    std::size_t end;
    void* library;
};
using Combine = void (*)(const Part& part);
// The XOR across ten sources and the XOR down each of ten stripes at once: the bytes from `begin` to `end` of each row.
// Encoding, the sources are the data and have a block each. Rebuilding, nine are data, the last is the horizontal
// parity, and the last block is that of the stripe which comes back as the XOR across.
struct Both {
    std::array<const std::uint8_t*, kRows> sources;
    std::uint8_t* across;
    std::array<std::uint8_t*, kRows> blocks;
    bool rebuilds;
    const Sizes* sizes;
    std::size_t begin;
    std::size_t end;
};
using CombineBoth = void (*)(const Both& both);

// What the study keeps between layout and release.
struct State {
    Scheme scheme;
    Sizes sizes{1};
    unsigned lost = 0;
    std::size_t passes = 1;
    std::vector<Step> steps;
    std::array<std::uint8_t*, kMostStripes> stripes{};  // where each is; of those lost, where it is to be
    bool losses_tried = false;
};

inline State& state(nw_run* run) { return *static_cast<State*>(run->own); }
inline const State& state(const nw_run* run) { return *static_cast<const State*>(run->own); }

// Bytes of a thread up to which stores go through the caches: more is streamed, as lines that are only written need not
// be read first, and the stripes stay where they are.
std::size_t most_near();
// Bytes up to which lines are asked for ahead: what the last cache holds comes at once, and ten stripes are more
// streams than the processor foresees while products keep it busy. From memory that was slower.
std::size_t most_asked();

int layout(nw_run* run);
int fill(nw_run* run);
int reset(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);
void release(nw_run* run);

// The steps, `passes` times, by all threads; with `both` where they are a stripe across and the vertical parity.
int run_steps(nw_run* run, Combine combine, CombineBoth both);
// One step by plain code, on stripes that need not be the study's.
void plain_step(const Step& step, const Sizes& sizes, const std::array<std::uint8_t*, kMostStripes>& stripes);
// Tries each loss there is on a small copy, and reports how many are survived.
int try_losses(nw_run* run);

int galois(nw_run* run);
int pairwise(nw_run* run);
int array(nw_run* run);
int array_shuffle(nw_run* run);
int prepare_isal(nw_run* run);
int isal(nw_run* run);
int isal_code(nw_run* run);

}  // namespace parity
