// SPDX-License-Identifier: BSD-3-Clause
// Messages of one sender that are out as views, in the order in which they were received: their room goes back in that
// order.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "transport/lane.h"

namespace nodewise::transport {

class Ledger {
  public:
    bool empty() const { return first_ == next_; }

    // A message that ends at `mark`. `out`: it is to be given back, else it was copied and only waits for its turn.
    // `own`: its bytes, where it was too long to lie in the ring.
    std::uint64_t add(const Reader::Mark& mark, bool out, std::unique_ptr<std::byte[]> own) {
        if (next_ - first_ == entries_.size()) {
            grow();
        }
        at(next_) = {.mark = mark, .out = out, .own = std::move(own)};
        return next_++;
    }

    bool is_out(std::uint64_t ticket) const {
        return ticket - first_ < next_ - first_ && entries_[ticket & (entries_.size() - 1)].out;
    }

    // Up to where the sender has its room again, if that has moved. `ticket` is out.
    std::optional<Reader::Mark> give_back(std::uint64_t ticket) {
        at(ticket).out = false;
        at(ticket).own.reset();
        std::optional<Reader::Mark> moved;
        for (; first_ != next_ && !at(first_).out; ++first_) {
            moved = at(first_).mark;
        }
        return moved;
    }

  private:
    struct Entry {
        Reader::Mark mark{};
        bool out = false;
        std::unique_ptr<std::byte[]> own;
    };
    Entry& at(std::uint64_t ticket) { return entries_[ticket & (entries_.size() - 1)]; }
    void grow() {
        std::vector<Entry> larger(entries_.size() * 2);
        for (std::uint64_t i = first_; i != next_; ++i) {
            larger[i & (larger.size() - 1)] = std::move(at(i));
        }
        entries_ = std::move(larger);
    }
    std::vector<Entry> entries_ = std::vector<Entry>(16);
    std::uint64_t first_ = 0, next_ = 0;
};

}  // namespace nodewise::transport
