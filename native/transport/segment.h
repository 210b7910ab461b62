// SPDX-License-Identifier: BSD-3-Clause
// Memory that two processes share. It has no name in the file system, so nothing is left when both are gone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/os.h"

namespace nodewise::transport {

constexpr std::uint64_t kPage = 4096;

// Of `bytes`, all there (an error now, not a signal later), mode 0600, of a size that neither side can change.
Fd make_segment(std::uint64_t bytes);

// That of a peer. Throws Damaged where it is not of this size, or could change it.
void check_segment(const Fd& fd, std::uint64_t bytes);

class Mapping {
  public:
    Mapping() = default;
    // `times`: that the same bytes follow each other so often, so that what wraps is in one piece.
    Mapping(const Fd& fd, std::uint64_t offset, std::uint64_t bytes, bool writable, int times = 1);
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();
    std::byte* data() const { return data_; }

  private:
    std::byte* data_ = nullptr;
    std::uint64_t length_ = 0;
};

}  // namespace nodewise::transport
