// SPDX-License-Identifier: BSD-3-Clause
// A digest of all that a program prints: XXH64, which tells two outputs apart where they differ by accident, and is
// faster than any program prints.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nodewise {

// The hash of the pieces added since the last reset, as if they had been one text; seed 0.
// Source: xxHash fast digest algorithm, specification 0.2.0 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
class Digest {
  public:
    Digest() { reset(); }
    void reset();
    void add(std::string_view data);
    [[nodiscard]] std::uint64_t value() const;

  private:
    static constexpr std::size_t kStripe = 32;

    void mix(std::string_view stripe);

    std::array<std::uint64_t, 4> lanes_{};
    std::array<char, kStripe> rest_{};  // what has not filled a stripe yet
    std::size_t rest_size_ = 0;
    std::uint64_t total_ = 0;
};

}  // namespace nodewise
