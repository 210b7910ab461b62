// SPDX-License-Identifier: BSD-3-Clause
// The store's table in memory: subscribers' numbers to balances, open addressing with linear probing. It does no
// locking.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "study.h"

namespace store {

class Accounts {
  public:
    explicit Accounts(std::int64_t count)
        : slots_(std::bit_ceil(static_cast<std::uint64_t>(2 * count))), mask_(slots_.size() - 1) {}

    // Subscribers have numbers that do not follow one another; never 0, which marks an empty slot.
    static std::uint64_t number(std::int64_t account) { return nw_mix(static_cast<std::uint64_t>(account)) | 1U; }

    void put(std::uint64_t number, std::int64_t balance) {
        std::uint64_t at = nw_mix(number) & mask_;
        while (slots_[at].number != 0 && slots_[at].number != number) {
            at = (at + 1) & mask_;
        }
        slots_[at] = {number, balance};
    }

    // The balance of a number that is in the table.
    std::int64_t& balance(std::uint64_t number) {
        std::uint64_t at = nw_mix(number) & mask_;
        while (slots_[at].number != number) {
            at = (at + 1) & mask_;
        }
        return slots_[at].balance;
    }

  private:
    struct Slot {
        std::uint64_t number;
        std::int64_t balance;
    };
    std::vector<Slot> slots_;
    std::uint64_t mask_;
};

}  // namespace store
