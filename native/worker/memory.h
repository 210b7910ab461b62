// SPDX-License-Identifier: BSD-3-Clause
// The memory of a run: aligned, on huge pages or on the fastest node where that is asked for, freed at its end.
#pragma once

#include <cstddef>
#include <vector>

namespace nodewise {

// Bytes that can be had without paging, as the system estimates; 0 where it does not say.
double available_memory();

class Memory {
  public:
    Memory() = default;
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    // `how` is of NW_HUGE and NW_FAST; null where there is not enough.
    void* take(std::size_t bytes, unsigned how);

    // Whether all that was asked for of the fast node lies there; true where nothing was asked for.
    [[nodiscard]] bool fast() const { return fast_; }

  private:
    struct Piece {
        void* data;
        void (*free)(void*);
    };
    std::vector<Piece> pieces_;
    bool fast_ = true;
};

}  // namespace nodewise
