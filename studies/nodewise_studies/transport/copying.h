// SPDX-License-Identifier: BSD-3-Clause
// A link over what copies a message when it is sent and when it is received, so that each side has one buffer.
#pragma once

#include <utility>

#include "drive.h"

namespace transport {

// `Wire` has send(bytes, size), receive(bytes, size), and finish(), all of which throw.
template <class Wire>
class Copying {
  public:
    template <class... Given>
    explicit Copying(const Task& task, Given&&... given)
        : own_(task.size, buffers_of(task, false)), wire_(std::forward<Given>(given)...) {}
    Byte* next() { return own_.at(turn_); }
    void post(std::uint64_t size) { wire_.send(own_.at(turn_++), size); }
    void flush() {}
    void finish() { wire_.finish(); }
    const Byte* take(std::uint64_t size) {
        Byte* to = own_.at(turn_++);
        wire_.receive(to, size);
        return to;
    }
    void done() {}
    void all_read() {}
    Byte* window(std::uint64_t j) const { return own_.at(j); }

  private:
    Buffers own_;
    std::uint64_t turn_ = 0;
    Wire wire_;
};

}  // namespace transport
