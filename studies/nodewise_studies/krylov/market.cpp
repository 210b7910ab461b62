// SPDX-License-Identifier: BSD-3-Clause
// The Matrix Market's exchange format (Boisvert, Pozo, Remington 1996, NISTIR 5935): a banner, comments, a line of
// sizes, and a line for each entry, counted from 1.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "abi/kernel.h"
#include "matrix.h"

namespace krylov {
namespace {

constexpr std::int64_t kMostRows = std::numeric_limits<std::int32_t>::max();

struct Entry {
    std::int64_t row;
    std::int64_t column;
    double value;
};

class Reader {
  public:
    explicit Reader(const std::string& path) : path_(path), in_(path) {
        if (!in_) {
            throw std::runtime_error(path + ": " + std::strerror(errno) +  // NOLINT(concurrency-mt-unsafe): one thread
                                     "\nhint: name a file that can be read, by its path from here");
        }
        read_banner();
        read_sizes();
    }

    [[nodiscard]] std::int64_t rows() const { return rows_; }

    // Calls function(entry) for each entry, mirrored ones too.
    template <typename Function>
    void entries(const Function& function) {
        for (std::int64_t k = 0; k < entries_; ++k) {
            if (!next()) {
                fail("the file ends after " + std::to_string(k) + " of " + std::to_string(entries_) + " entries");
            }
            const Entry entry = read_entry();
            function(entry);
            if (mirrored_ && entry.row != entry.column) {
                function(Entry{entry.column, entry.row, sign_ * entry.value});
            }
        }
        if (next()) {
            fail("more than the " + std::to_string(entries_) + " entries that the sizes tell");
        }
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw std::runtime_error(path_ + ", line " + std::to_string(line_) + ": " + what);
    }

  private:
    // The next line that is neither empty nor a comment.
    bool next() {
        while (std::getline(in_, text_)) {
            ++line_;
            if (!text_.empty() && text_.back() == '\r') {
                text_.pop_back();
            }
            if (text_.find_first_not_of(" \t") != std::string::npos && text_[0] != '%') {
                return true;
            }
        }
        return false;
    }

    void read_banner() {
        ++line_;
        std::getline(in_, text_);
        std::transform(text_.begin(), text_.end(), text_.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        std::istringstream words(text_);
        std::string banner;
        std::string object;
        std::string form;
        std::string field;
        std::string symmetry;
        words >> banner >> object >> form >> field >> symmetry;
        if (banner != "%%matrixmarket") {
            fail("no Matrix Market file: it begins with %%MatrixMarket matrix coordinate real general");
        }
        if (object != "matrix" || form != "coordinate") {
            fail("a matrix of coordinates is read here, not '" + object + " " + form + "'");
        }
        if (field != "real" && field != "integer" && field != "pattern" && field != "double") {
            fail("entries that are real, integer or pattern are read here, not '" + field + "'");
        }
        if (symmetry != "general" && symmetry != "symmetric" && symmetry != "skew-symmetric") {
            fail("a general, symmetric or skew-symmetric matrix is read here, not '" + symmetry + "'");
        }
        pattern_ = field == "pattern";
        mirrored_ = symmetry != "general";
        sign_ = symmetry == "skew-symmetric" ? -1 : 1;
    }

    void read_sizes() {
        if (!next()) {
            fail("the line of sizes is missing");
        }
        at_ = text_.c_str();
        rows_ = whole_number("rows");
        const std::int64_t columns = whole_number("columns");
        entries_ = whole_number("entries");
        end_of_line();
        if (rows_ < 1 || rows_ != columns || rows_ > kMostRows || entries_ < 0) {
            fail("a square matrix of 1 to " + std::to_string(kMostRows) + " rows is solved, not " +
                 std::to_string(rows_) + " x " + std::to_string(columns));
        }
        if (entries_ < (mirrored_ ? (rows_ + 1) / 2 : rows_)) {
            fail("fewer entries than rows: one is empty, and there is no one solution");
        }
    }

    std::int64_t whole_number(const char* what) {
        char* end = nullptr;
        errno = 0;
        const long long number = std::strtoll(at_, &end, 10);
        if (end == at_ || errno != 0 || (*end != '\0' && *end != ' ' && *end != '\t')) {
            fail(std::string("no number of ") + what);
        }
        at_ = end;
        return number;
    }

    void end_of_line() const {
        if (at_[std::strspn(at_, " \t")] != '\0') {
            fail("more on the line than is meant");
        }
    }

    Entry read_entry() {
        at_ = text_.c_str();
        Entry entry{whole_number("row") - 1, whole_number("column") - 1, 1};
        if (!pattern_) {
            char* end = nullptr;
            entry.value = std::strtod(at_, &end);
            if (end == at_ || !std::isfinite(entry.value)) {
                fail("no finite value");
            }
            at_ = end;
        }
        end_of_line();
        if (entry.row < 0 || entry.row >= rows_ || entry.column < 0 || entry.column >= rows_) {
            fail("row and column are from 1 to " + std::to_string(rows_));
        }
        return entry;
    }

    std::string path_;
    std::ifstream in_;
    std::string text_;
    const char* at_ = nullptr;
    std::int64_t line_ = 0;
    std::int64_t rows_ = 0;
    std::int64_t entries_ = 0;
    bool pattern_ = false;
    bool mirrored_ = false;
    double sign_ = 1;
};

// By rows and columns, those of one place added up.
Rows ordered(std::vector<Entry>& entries, std::int64_t whole, std::int64_t first, std::int64_t end) {
    // what is added up at one place has an order of its own, too
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return std::tie(a.row, a.column, a.value) < std::tie(b.row, b.column, b.value);
    });
    Rows made;
    made.whole = whole;
    made.first = first;
    made.counts.assign(static_cast<std::size_t>(end - first), 0);
    made.columns.reserve(entries.size());
    made.values.reserve(entries.size());
    const Entry* before = nullptr;
    for (const Entry& entry : entries) {
        if (before != nullptr && before->row == entry.row && before->column == entry.column) {
            made.values.back() += entry.value;
        } else {
            ++made.counts[static_cast<std::size_t>(entry.row - first)];
            made.columns.push_back(static_cast<std::int32_t>(entry.column));
            made.values.push_back(entry.value);
        }
        before = &entry;
    }
    return made;
}

}  // namespace

Rows read_matrix(const std::string& path, int rank, int ranks) {
    Reader reader(path);
    const std::int64_t whole = reader.rows();
    const auto first = static_cast<std::int64_t>(nw_begin(static_cast<std::uint64_t>(whole), rank, ranks));
    const auto end = static_cast<std::int64_t>(nw_begin(static_cast<std::uint64_t>(whole), rank + 1, ranks));
    std::vector<Entry> entries;
    reader.entries([&](const Entry& entry) {
        if (entry.row >= first && entry.row < end) {
            entries.push_back(entry);
        }
    });
    return ordered(entries, whole, first, end);
}

}  // namespace krylov
