// SPDX-License-Identifier: BSD-3-Clause
#include "csv.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace pca {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\r' || c == '\t'; }

struct Cell {
    const char* begin;
    const char* end;
};

Cell trim(Cell cell) {
    while (cell.begin < cell.end && is_blank(*cell.begin)) {
        ++cell.begin;
    }
    while (cell.begin < cell.end && is_blank(cell.end[-1])) {
        --cell.end;
    }
    return cell;
}

bool read_number(Cell cell, double& into) {
    cell = trim(cell);
    if (cell.end - cell.begin >= 2 && *cell.begin == '"' && cell.end[-1] == '"') {
        cell = trim({cell.begin + 1, cell.end - 1});
    }
    if (cell.begin < cell.end && *cell.begin == '+') {
        ++cell.begin;
    }
    const auto [stop, problem] = std::from_chars(cell.begin, cell.end, into);
    if (problem == std::errc::result_out_of_range && stop == cell.end) {
        // too large or too close to 0
        into = std::strtod(std::string(cell.begin, cell.end).c_str(), nullptr);
        return std::isfinite(into);
    }
    return problem == std::errc() && stop == cell.end && std::isfinite(into);
}

constexpr double kPowers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
constexpr int kExactDigits = 15;

// A number of so few digits that one division rounds it right; where it ends, or null where it is none such.
const char* read_plain(const char* at, const char* end, double& into) {
    const bool negative = at < end && *at == '-';
    at += negative ? 1 : 0;
    std::uint64_t digits = 0;
    int count = 0;
    int scale = 0;
    bool fraction = false;
    for (; at < end && count <= kExactDigits; ++at) {
        const auto digit = static_cast<unsigned>(*at) - unsigned{'0'};
        if (digit > 9) {
            if (*at != '.' || fraction) {
                break;
            }
            fraction = true;
            continue;
        }
        digits = digits * 10 + digit;
        ++count;
        scale += fraction ? 1 : 0;
    }
    if (count == 0 || count > kExactDigits) {
        return nullptr;
    }
    const double value = static_cast<double>(digits) / kPowers[scale];
    into = negative ? -value : value;
    return at;
}

const char* find_or_end(const char* begin, const char* end, char what) {
    const void* found = std::memchr(begin, what, static_cast<std::size_t>(end - begin));
    return found != nullptr ? static_cast<const char*>(found) : end;
}

// A line that has nothing in it is passed over.
bool is_empty_line(const char* begin, const char* end) {
    const Cell rest = trim({begin, end});
    return rest.begin == rest.end;
}

std::vector<Cell> split(const char* begin, const char* end, char separator) {
    std::vector<Cell> cells;
    bool quoted = false;
    const char* from = begin;
    for (const char* at = begin; at < end; ++at) {
        quoted = *at == '"' ? !quoted : quoted;
        if (*at == separator && !quoted) {
            cells.push_back({from, at});
            from = at + 1;
        }
    }
    cells.push_back({from, end});
    return cells;
}

char separator_of(const char* begin, const char* end) {
    for (const char candidate : {'\t', ';', ','}) {
        if (split(begin, end, candidate).size() > 1) {
            return candidate;
        }
    }
    return ',';
}

std::string shown(Cell cell) {
    cell = trim(cell);
    const auto length = static_cast<std::size_t>(cell.end - cell.begin);
    return length <= 24 ? std::string(cell.begin, cell.end) : std::string(cell.begin, 21) + "...";
}

}  // namespace

// Lines of the text: where they begin and end, which row the first is, which line of the file.
struct CsvReader::Stretch {
    const char* begin;
    const char* end;
    std::size_t row;
    std::size_t line;
};

std::size_t CsvReader::bytes(std::size_t text_bytes, std::size_t columns, bool sparse) {
    // a cell takes two characters at least: as many values, for sparse rows with their columns and each row's limits
    const std::size_t cells = text_bytes / 2 + columns;
    return text_bytes + cells * sizeof(double) +
           (sparse ? cells * sizeof(std::int32_t) + cells / columns * 2 * sizeof(std::int64_t) : 0);
}

std::size_t CsvReader::text_within(std::size_t bytes, std::size_t columns, bool sparse) {
    const std::size_t fixed = CsvReader::bytes(0, columns, sparse);
    const std::size_t each = CsvReader::bytes(2 * columns, columns, sparse) - fixed;
    return bytes <= fixed ? 0 : (bytes - fixed) / each * 2 * columns;
}

CsvReader::CsvReader(std::string path, std::size_t text_bytes, std::size_t most_rows, bool sparse, int threads)
    : path_(std::move(path)), most_rows_(most_rows), sparse_(sparse), threads_(threads) {
    file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat about{};
    if (file_ < 0 || fstat(file_, &about) != 0 || S_ISDIR(about.st_mode)) {
        const char* problem = file_ < 0 ? std::strerror(errno) : "not a file";  // NOLINT: one thread
        throw std::runtime_error(path_ + ": " + problem +
                                 "\nhint: name a file that can be read, by its path from here");
    }
    text_.resize(std::max(text_bytes, kLeastText));
    look_at_first_lines();
    const std::size_t cells = text_.size() / 2 + columns_;
    value_.resize(cells);
    if (sparse_) {
        column_.resize(cells);
        starts_.resize(cells / columns_);
        ends_.resize(cells / columns_);
    }
}

CsvReader::~CsvReader() {
    if (file_ >= 0) {
        close(file_);
    }
}

void CsvReader::rewind() {
    lseek(file_, static_cast<off_t>(first_byte_), SEEK_SET);
    begin_ = end_ = 0;
    line_ = first_line_;
    ended_ = false;
}

// Moves what is left to the front and reads on.
void CsvReader::refill() {
    std::memmove(text_.data(), text_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    while (!ended_ && end_ < text_.size()) {
        const ssize_t got = read(file_, text_.data() + end_, text_.size() - end_);
        if (got < 0) {
            throw std::runtime_error(path_ + ": " + std::strerror(errno));  // NOLINT: one thread
        }
        ended_ = got == 0;
        end_ += static_cast<std::size_t>(got);
    }
}

void CsvReader::look_at_first_lines() {
    refill();
    const char* text = text_.data();
    const char* end = text + end_;
    const char* at = end_ >= 3 && std::memcmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;
    const char* stop = find_or_end(at, end, '\n');
    while (at < end && is_empty_line(at, stop)) {
        at = std::min(stop + 1, end);
        stop = find_or_end(at, end, '\n');
        ++line_;
    }
    if (at >= end) {
        throw std::runtime_error(path_ + ": no rows");
    }
    separator_ = separator_of(at, stop);
    const std::vector<Cell> cells = split(at, stop, separator_);
    columns_ = cells.size();
    std::size_t numbers = 0;
    double ignored = 0;
    for (const Cell& cell : cells) {
        numbers += read_number(cell, ignored) ? 1 : 0;
    }
    if (numbers == 0) {
        // headings; a line that mixes them with numbers is refused when it is read
        at = std::min(stop + 1, end);
        ++line_;
    }
    first_byte_ = static_cast<std::size_t>(at - text);
    first_line_ = line_;
    rewind();
}

// Where the lines end that can be given now, and how many they are.
std::size_t CsvReader::end_of_lines(std::size_t& lines) const {
    const char* text = text_.data();
    const char* at = text + begin_;
    const char* end = text + end_;
    for (lines = 0; lines < most_rows_ && at < end; ++lines) {
        const char* stop = find_or_end(at, end, '\n');
        if (stop == end && !ended_) {
            break;
        }
        at = std::min(stop + 1, end);
    }
    return static_cast<std::size_t>(at - text);
}

// What is wrong with a cell, and where it is.
std::string CsvReader::complaint(std::size_t line, std::size_t cell, const char* begin, const char* end) const {
    const std::string where = path_ + ", line " + std::to_string(line) + ", column " + std::to_string(cell + 1) + ": ";
    if (cell >= columns_) {
        return where + "the first row has " + std::to_string(columns_) + " columns";
    }
    if (is_empty_line(begin, end)) {
        return where + "an empty cell";
    }
    std::string text = where;
    text.append("'").append(shown({begin, end})).append("' is not a number");
    return text;
}

void CsvReader::parse(const Stretch& stretch) {
    const char* at = stretch.begin;
    std::size_t row = stretch.row;
    for (std::size_t line = stretch.line; at < stretch.end; ++line) {
        const char* stop = find_or_end(at, stretch.end, '\n');
        if (is_empty_line(at, stop)) {
            at = std::min(stop + 1, stretch.end);
            continue;
        }
        std::size_t cell = 0;
        std::size_t to = row * columns_;
        if (sparse_) {
            starts_[row] = static_cast<std::int64_t>(to);
        }
        for (const char* from = at; from <= stop; ++cell) {
            double value = 0.0;
            const char* cut = read_plain(from, stop, value);
            const bool plain = cut != nullptr && (cut == stop || *cut == separator_);
            if (!plain || cell >= columns_) {
                cut = find_or_end(from, stop, separator_);
                if (cell >= columns_ || !read_number({from, cut}, value)) {
                    throw std::runtime_error(complaint(line, cell, from, cut));
                }
            }
            if (!sparse_) {
                value_[to++] = value;
            } else if (value != 0.0) {
                column_[to] = static_cast<std::int32_t>(cell);
                value_[to++] = value;
            }
            from = cut + 1;
        }
        if (cell != columns_) {
            throw std::runtime_error(path_ + ", line " + std::to_string(line) + ": " + std::to_string(cell) +
                                     " columns, the first row has " + std::to_string(columns_));
        }
        if (sparse_) {
            ends_[row] = static_cast<std::int64_t>(to);
        }
        ++row;
        at = std::min(stop + 1, stretch.end);
    }
}

// Cuts the next lines for the threads: the lines' number, and the rows' without those that are empty.
std::vector<CsvReader::Stretch> CsvReader::cut(std::size_t stop, std::size_t& rows) {
    std::vector<Stretch> stretches;
    const std::size_t each = (stop - begin_) / static_cast<std::size_t>(threads_) + 1;
    const char* end = text_.data() + stop;
    rows = 0;
    for (const char* at = text_.data() + begin_; at < end;) {
        const bool last = static_cast<std::size_t>(end - at) <= each;
        const char* to = last ? end : std::min(find_or_end(at + each, end, '\n') + 1, end);
        stretches.push_back({at, to, rows, line_});
        while (at < to) {
            const char* stop_of_line = find_or_end(at, to, '\n');
            rows += is_empty_line(at, stop_of_line) ? 0 : 1;
            at = std::min(stop_of_line + 1, to);
            ++line_;
        }
    }
    return stretches;
}

void CsvReader::parse_all(const std::vector<Stretch>& stretches) {
    std::vector<std::string> wrong(stretches.size());
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
    for (std::size_t i = 0; i < stretches.size(); ++i) {
        try {
            parse(stretches[i]);
        } catch (const std::exception& problem) {
            wrong[i] = problem.what();
        }
    }
    for (const std::string& problem : wrong) {
        if (!problem.empty()) {
            throw std::runtime_error(problem);
        }
    }
}

bool CsvReader::next(Block& block) {
    std::size_t rows = 0;
    while (rows == 0) {
        std::size_t lines = 0;
        std::size_t stop = end_of_lines(lines);
        if (lines < most_rows_ && !ended_) {
            refill();
            stop = end_of_lines(lines);
        }
        if (begin_ == end_) {
            return false;
        }
        if (lines == 0) {
            throw std::runtime_error(path_ + ", line " + std::to_string(line_) + ": longer than the " +
                                     std::to_string(text_.size()) + " bytes that are read at a time");
        }
        parse_all(cut(stop, rows));
        begin_ = stop;
    }
    block = {};
    block.count = rows;
    block.columns = columns_;
    if (sparse_) {
        block.starts = starts_.data();
        block.ends = ends_.data();
        block.column = column_.data();
        block.value = value_.data();
    } else {
        block.dense = value_.data();
    }
    return true;
}

}  // namespace pca
