// SPDX-License-Identifier: BSD-3-Clause
// Numbers in a text file, a row a line: separated by commas, semicolons or tabs, with or without a line of headings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pca.h"

namespace pca {

// Reads a file a stretch at a time, in memory that does not depend on the file's length. Throws std::runtime_error that
// names the line and the column of what is wrong.
class CsvReader {
  public:
    // the headings and the first row have to be within so much
    static constexpr std::size_t kLeastText = std::size_t{1} << 16;

    // At most `text_bytes` of the file are held at a time, and at most `most_rows` given at once.
    CsvReader(std::string path, std::size_t text_bytes, std::size_t most_rows, bool sparse, int threads);
    ~CsvReader();
    CsvReader(const CsvReader&) = delete;
    CsvReader& operator=(const CsvReader&) = delete;

    [[nodiscard]] std::size_t columns() const { return columns_; }
    void rewind();
    // The next rows, valid until the next call; false at the end.
    bool next(Block& block);

    // Bytes that such a reader takes in all.
    static std::size_t bytes(std::size_t text_bytes, std::size_t columns, bool sparse);
    // The largest text that keeps it within `bytes`.
    static std::size_t text_within(std::size_t bytes, std::size_t columns, bool sparse);

  private:
    struct Stretch;
    void refill();
    void look_at_first_lines();
    std::size_t end_of_lines(std::size_t& lines) const;
    std::vector<Stretch> cut(std::size_t stop, std::size_t& rows);
    void parse(const Stretch& stretch);
    void parse_all(const std::vector<Stretch>& stretches);
    std::string complaint(std::size_t line, std::size_t cell, const char* begin, const char* end) const;

    std::string path_;
    std::size_t most_rows_;
    bool sparse_;
    int threads_;
    int file_ = -1;
    std::vector<char> text_;
    std::size_t begin_ = 0;  // of what is in the text and not given yet
    std::size_t end_ = 0;
    bool ended_ = false;
    char separator_ = ',';
    std::size_t columns_ = 0;
    std::size_t line_ = 1;  // of the text's next line
    std::size_t first_line_ = 1;
    std::size_t first_byte_ = 0;  // where the rows begin
    std::vector<double> value_;
    std::vector<std::int32_t> column_;
    std::vector<std::int64_t> starts_;
    std::vector<std::int64_t> ends_;
};

}  // namespace pca
