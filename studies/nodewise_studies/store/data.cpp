// SPDX-License-Identifier: BSD-3-Clause
// The requests, the check and the work model.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "study.h"

namespace store {
namespace {

enum Stream : std::uint64_t { kAccount, kAmount, kQuery, kStart };

std::uint64_t bits(const nw_run* run, Stream stream, std::int64_t index) {
    return nw_mix(((run->seed * 4 + stream) << 40) ^ static_cast<std::uint64_t>(index));
}

// Every so many accounts have less than any debit, so that all of theirs are refused, whoever comes first; the others
// have more than all debits of a run together.
constexpr std::int64_t kPoor = 16;
constexpr std::int64_t kLeastDebit = 10;
constexpr std::int64_t kMostDebit = 1000000;
constexpr std::int64_t kRich = std::int64_t{1} << 55;

bool accepted(const Requests& requests, std::int64_t i) {
    return requests.amount[i] != 0 && requests.start[requests.account[i]] >= requests.amount[i];
}

}  // namespace

Requests requests_of(const nw_run* run) {
    return {static_cast<std::int64_t>(nw_number(run, "requests", 1)),
            static_cast<std::int64_t>(nw_number(run, "accounts", 1)),
            static_cast<const std::int32_t*>(nw_data(run, "account")),
            static_cast<const std::int64_t*>(nw_data(run, "amount")),
            static_cast<const std::int64_t*>(nw_data(run, "start"))};
}

int layout(nw_run* run) {
    const Requests requests = requests_of(run);
    const auto count = static_cast<std::uint64_t>(requests.count);
    const auto accounts = static_cast<std::uint64_t>(requests.accounts);
    nw_declare(run, "account", NW_I32, NW_INPUT, count);
    nw_declare(run, "amount", NW_I64, NW_INPUT, count);
    nw_declare(run, "start", NW_I64, NW_INPUT, accounts);
    nw_declare(run, "balances", NW_I64, NW_OUTPUT, accounts);
    nw_declare(run, "recovered", NW_I64, NW_OUTPUT, accounts);
    nw_declare(run, "logged", NW_U8, NW_OUTPUT, count);
    nw_declare(run, "waited", NW_F64, NW_SCRATCH, count);
    return 0;
}

int fill(nw_run* run) {
    auto* account = static_cast<std::int32_t*>(nw_data(run, "account"));
    auto* amount = static_cast<std::int64_t*>(nw_data(run, "amount"));
    auto* start = static_cast<std::int64_t*>(nw_data(run, "start"));
    const Requests requests = requests_of(run);
    const double queries = nw_number(run, "queries", 80) / 100;
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t i = 0; i < requests.count; ++i) {
        // some accounts are asked about more often than others
        const double at = nw_uniform(bits(run, kAccount, i));
        account[i] = static_cast<std::int32_t>(at * at * static_cast<double>(requests.accounts));
        const std::uint64_t value = bits(run, kAmount, i);
        amount[i] = nw_uniform(bits(run, kQuery, i)) < queries
                        ? 0
                        : kLeastDebit + static_cast<std::int64_t>(value % (kMostDebit - kLeastDebit));
    }
#pragma omp parallel for schedule(static) num_threads(run->threads)
    for (std::int64_t a = 0; a < requests.accounts; ++a) {
        const auto value = static_cast<std::int64_t>(bits(run, kStart, a) >> 20);
        start[a] = value % kPoor == 0 ? value / kPoor % kLeastDebit : kRich + value;
    }
    return 0;
}

// Nothing of the last run counts as an answer of the next.
int reset(nw_run* run) {
    const Requests requests = requests_of(run);
    const auto accounts = static_cast<std::size_t>(requests.accounts) * sizeof(std::int64_t);
    std::memset(nw_data(run, "balances"), 0xff, accounts);
    std::memset(nw_data(run, "recovered"), 0xff, accounts);
    std::memset(nw_data(run, "logged"), 0, static_cast<std::size_t>(requests.count));
    std::fill_n(static_cast<double*>(nw_data(run, "waited")), requests.count, 0.0);
    return 0;
}

// Each account has what it had less its debits, in memory and by the log; each debit that was covered is in the log
// once, and nothing else; so no money is made or lost.
int check(nw_run* run) {
    const Requests requests = requests_of(run);
    const auto* balances = static_cast<const std::int64_t*>(nw_data(run, "balances"));
    const auto* recovered = static_cast<const std::int64_t*>(nw_data(run, "recovered"));
    const auto* logged = static_cast<const std::uint8_t*>(nw_data(run, "logged"));
    std::vector<std::int64_t> want(requests.start, requests.start + requests.accounts);
    for (std::int64_t i = 0; i < requests.count; ++i) {
        const bool counts = accepted(requests, i);
        want[static_cast<std::size_t>(requests.account[i])] -= counts ? requests.amount[i] : 0;
        if (logged[i] != (counts ? 1 : 0)) {
            return nw_fail(run, "request %lld is %d times in the log", static_cast<long long>(i), logged[i]);
        }
    }
    std::uint64_t money = 0;  // as a sum may wrap
    for (std::int64_t a = 0; a < requests.accounts; ++a) {
        const std::int64_t right = want[static_cast<std::size_t>(a)];
        if (balances[a] != right || recovered[a] != right) {
            return nw_fail(run, "account %lld has %lld, by its log %lld, and should have %lld",
                           static_cast<long long>(a), static_cast<long long>(balances[a]),
                           static_cast<long long>(recovered[a]), static_cast<long long>(right));
        }
        money += static_cast<std::uint64_t>(requests.start[a]) - static_cast<std::uint64_t>(balances[a]);
    }
    for (std::int64_t i = 0; i < requests.count; ++i) {
        money -= accepted(requests, i) ? static_cast<std::uint64_t>(requests.amount[i]) : 0;
    }
    return money == 0 ? 0 : nw_fail(run, "balances and debits do not add up to what there was");
}

// All requests; the records of the debits are what has to be written, before compression.
void work(const nw_run* run, nw_work* out) {
    const Requests requests = requests_of(run);
    const double debits = static_cast<double>(requests.count) * (1 - nw_number(run, "queries", 80) / 100);
    const auto folders = static_cast<double>(folders_of(run).size());
    *out = {folders * static_cast<double>(requests.count), 0, 0, folders * debits * nw_number(run, "record", 128)};
}

}  // namespace store
