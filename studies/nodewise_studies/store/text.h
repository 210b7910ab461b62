// SPDX-License-Identifier: BSD-3-Clause
// What fills the records of the log.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

namespace store {

// Text as records of charges have it, the same for a request each time.
class Text {
  public:
    explicit Text(std::size_t bytes) : bytes_(bytes + kMost) {}

    const char* of(std::uint64_t request, std::uint64_t number, std::int64_t amount, std::size_t bytes) {
        std::size_t at = 0;
        while (at < bytes) {
            const int done = std::snprintf(bytes_.data() + at, kMost,
                                           "subscriber=%020llu;service=data;cell=%03u;unit=kB;amount=%lld;balance=ok;",
                                           static_cast<unsigned long long>(number),
                                           static_cast<unsigned>(request % 977), static_cast<long long>(amount));
            at += static_cast<std::size_t>(done);
        }
        return bytes_.data();
    }

  private:
    static constexpr std::size_t kMost = 128;
    std::vector<char> bytes_;
};

}  // namespace store
