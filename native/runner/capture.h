// SPDX-License-Identifier: BSD-3-Clause
// What a program prints, kept within bounds: its beginning, its end, and every line of the sample protocol; and, where
// it is asked for, a digest and a copy of all the rest, by which two runs' answers are compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runner/digest.h"

namespace nodewise {

// One stream. However much flows through it, it holds at most about 2 * keep + lines * line bytes.
class Capture {
  public:
    static constexpr std::size_t kKeep = std::size_t{64} << 10;
    static constexpr std::size_t kMostLines = 4096;
    static constexpr std::size_t kLongestLine = std::size_t{16} << 10;

    // Starts anew; memory is kept.
    void reset();
    // What is printed from now on, lines of the protocol left out, goes into the digest, and up to `most` bytes of it
    // into the file `copy` (not into memory: a program's peak counts ours). -1: neither.
    void keep_answer(int copy, std::uint64_t most);
    // What is printed from now on is written to that descriptor, too; -1: nowhere.
    void pass_on(int to) { to_ = to; }
    // Reads what the descriptor has, without waiting. False at its end.
    bool drain(int descriptor);
    // To be called at the end: a last line without line feed counts too.
    void finish();

    // The beginning and the end of what was printed, with what was left out between them named.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::uint64_t total() const { return total_; }
    [[nodiscard]] const std::vector<std::string>& protocol_lines() const { return lines_; }
    // How many lines of the protocol were too long, or too many, to be kept.
    [[nodiscard]] std::uint64_t protocol_dropped() const { return dropped_; }
    // The beginning of a line in which the mark of the protocol stands behind something else; empty where there is
    // none.
    [[nodiscard]] const std::string& misplaced() const { return misplaced_; }
    [[nodiscard]] std::uint64_t answer_digest() const { return digest_.value(); }
    [[nodiscard]] std::uint64_t answer_bytes() const { return answer_bytes_; }

  private:
    void take(std::string_view data);
    void write_on(std::string_view data);
    void scan(std::string_view data);
    void end_line();
    void answer(std::string_view data);
    void look_for_misplaced(std::string_view data);

    std::string head_;
    std::string tail_;  // a ring of kKeep bytes; the oldest is at tail_at_ once it is full
    std::size_t tail_at_ = 0;
    std::uint64_t total_ = 0;
    std::string line_;
    bool skipping_ = false;
    std::vector<std::string> lines_;
    std::uint64_t dropped_ = 0;
    std::string before_ = "\n";  // the end of what was looked at for a misplaced mark, which may be its beginning
    std::string misplaced_;
    int to_ = -1;
    int copy_ = -1;
    std::uint64_t most_ = 0;
    std::uint64_t answer_bytes_ = 0;
    Digest digest_;
};

}  // namespace nodewise
