// SPDX-License-Identifier: BSD-3-Clause
// Whose code lies at an address, by /proc/self/maps. Takes no lock and allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nodewise {

// Reads lines such as "7f01-7f02 r-xp 00000000 fd:01 123   /usr/lib/libgomp.so.1.0.0" a character at a time.
class MapsReader {
  public:
    explicit MapsReader(std::uintptr_t code) : code_(code) {}

    // Whether this character ends the line that holds the code; then its file's name is known.
    bool take(char c) {
        if (c == '\n') {
            if (begin_ <= code_ && code_ < end_) {
                return true;
            }
            *this = MapsReader(code_);
            return false;
        }
        if (field_ == Field::kBegin || field_ == Field::kEnd) {
            take_address(c);
        } else if (c == '/') {
            length_ = 0;
            named_ = true;
        } else if (named_ && length_ + 1 < kNameBytes) {
            name_[length_++] = c;
        }
        return false;
    }
    const char* name() {
        name_[length_] = '\0';
        return &name_[0];
    }

  private:
    static constexpr std::size_t kNameBytes = 24;
    enum class Field : unsigned char { kBegin, kEnd, kRest };

    void take_address(char c) {
        std::uintptr_t& address = field_ == Field::kBegin ? begin_ : end_;
        if (c >= '0' && c <= '9') {
            address = address * 16 + static_cast<std::uintptr_t>(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            address = address * 16 + static_cast<std::uintptr_t>(c - 'a' + 10);
        } else {
            field_ = field_ == Field::kBegin ? Field::kEnd : Field::kRest;
        }
    }

    std::uintptr_t code_;
    std::uintptr_t begin_ = 0;
    std::uintptr_t end_ = 0;
    Field field_ = Field::kBegin;
    bool named_ = false;
    std::size_t length_ = 0;
    char name_[kNameBytes] = {};
};

}  // namespace nodewise
