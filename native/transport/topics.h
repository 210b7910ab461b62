// SPDX-License-Identifier: BSD-3-Clause
// What a subscriber wants: messages that begin with one of some prefixes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "transport/transport.h"

namespace nodewise::transport {

struct Change {  // of what is wanted
    std::string prefix;
    bool wanted = false;
};

class Topics {
  public:
    bool empty() const { return all_.empty(); }

    // False where it cannot be: what was never wanted is given up, or there are too many.
    bool change(std::string_view prefix, bool wanted) {
        auto found = all_.find(prefix);
        if (!wanted) {
            if (found == all_.end()) {
                return false;
            }
            if (--found->second == 0) {
                lengths_erase(prefix.size());
                all_.erase(found);
            }
            return true;
        }
        if (found != all_.end()) {
            ++found->second;
            return true;
        }
        if (prefix.size() > NWT_MAX_TOPIC || all_.size() >= kMost) {
            return false;
        }
        all_.emplace(prefix, 1);
        ++lengths_[prefix.size()];
        return true;
    }

    bool match(std::string_view message) const {
        for (const auto& [length, count] : lengths_) {
            if (length > message.size()) {
                return false;
            }
            if (all_.contains(message.substr(0, length))) {
                return true;
            }
        }
        return false;
    }

    // Each, as often as it is wanted.
    template <typename Each>
    void for_each(Each each) const {
        for (const auto& [prefix, count] : all_) {
            for (std::uint64_t i = 0; i < count; ++i) {
                each(prefix);
            }
        }
    }

  private:
    static constexpr std::size_t kMost = 16384;
    void lengths_erase(std::size_t length) {
        if (--lengths_[length] == 0) {
            lengths_.erase(length);
        }
    }
    std::map<std::string, std::uint64_t, std::less<>> all_;
    std::map<std::size_t, std::uint64_t> lengths_;
};

}  // namespace nodewise::transport
