// SPDX-License-Identifier: BSD-3-Clause
// The store's parts: what is asked of it, and what is done with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "abi/kernel.h"

namespace store {

// What clients ask: request i is about account `account[i]`; an amount of 0 asks for its balance, any other is to be
// debited and logged, unless the balance is smaller.
struct Requests {
    std::int64_t count;
    std::int64_t accounts;
    const std::int32_t* account;
    const std::int64_t* amount;
    const std::int64_t* start;  // balance of each account before
};

Requests requests_of(const nw_run* run);

// What a log record begins with; text as such records have it fills it up to the knob's size.
struct Record {
    std::uint64_t request;
    std::uint32_t account;
    std::uint32_t size;  // of the whole record
    std::int64_t amount;
};

int layout(nw_run* run);
int fill(nw_run* run);
int reset(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);

// Where the log is to be, one after the other; and the first of them.
std::vector<std::string> folders_of(const nw_run* run);
std::string folder_of(const nw_run* run);
// Reports how long those requests that waited did, in microseconds, of their seconds.
void report_waits(nw_run* run, const double* waited, std::int64_t count);

// Serves the requests under a kind of lock, explained in serve.cpp.
enum class Kind { kSpin, kTicket, kMutex, kRwlock, kSharedMutex, kElided };
int serve(nw_run* run, Kind kind);
int prepare(nw_run* run);
// Serves them from a database of LMDB's.
int prepare_lmdb(nw_run* run);
int lmdb(nw_run* run);
// The limit: all records at once, in one go, and one wait for the disk.
int log_only(nw_run* run);

}  // namespace store
