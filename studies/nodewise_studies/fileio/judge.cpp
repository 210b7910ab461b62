// SPDX-License-Identifier: BSD-3-Clause
// Whether a file holds the array, by readers that share nothing with the variants that wrote it.
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <vector>

#include "study.h"

namespace fileio {
namespace {

// How much of the file is looked at at a time.
constexpr std::int64_t kPart = 1 << 20;

bool differs(std::string& wrong, std::int64_t element) {
    wrong = "element " + std::to_string(element) + " is another one in the file";
    return false;
}

bool ends(std::string& wrong, std::int64_t element) {
    wrong = "the file ends or is none of its format at element " + std::to_string(element);
    return false;
}

// Compares bytes of the file, from a place on, with elements, from one on.
bool bytes_are(int fd, std::int64_t place, const Array& want, std::int64_t first, std::int64_t count,
               std::string& wrong) {
    constexpr std::int64_t kElements = kPart / static_cast<std::int64_t>(sizeof(double));
    std::vector<double> part(static_cast<std::size_t>(std::min(kElements, count)));
    for (std::int64_t done = 0; done < count; done += kElements) {
        const std::int64_t step = std::min(kElements, count - done);
        const auto bytes = step * static_cast<std::int64_t>(sizeof(double));
        if (!read_all(fd, part.data(), bytes, place + done * static_cast<std::int64_t>(sizeof(double)))) {
            return ends(wrong, first + done);
        }
        for (std::int64_t i = 0; i < step; ++i) {
            if (!same(part[static_cast<std::size_t>(i)], want.data[first + done + i])) {
                return differs(wrong, first + done + i);
            }
        }
    }
    return true;
}

bool holds_bytes(int fd, std::int64_t size, const Array& want, std::string& wrong) {
    if (size != want.count * static_cast<std::int64_t>(sizeof(double))) {
        wrong = "the file has " + std::to_string(size) + " bytes";
        return false;
    }
    return bytes_are(fd, 0, want, 0, want.count, wrong);
}

// Each record has its length in bytes before and behind it; a length below 0 says that the record goes on in the next
// part, as those above 2 GiB do.
bool holds_records(int fd, std::int64_t size, const Array& want, std::string& wrong) {
    std::int64_t place = 0;
    std::int64_t element = 0;
    constexpr auto kMark = static_cast<std::int64_t>(sizeof(std::int32_t));
    while (element < want.count) {
        std::int32_t mark = 0;
        if (!read_all(fd, &mark, kMark, place)) {
            return ends(wrong, element);
        }
        const std::int64_t bytes = mark < 0 ? -std::int64_t{mark} : mark;
        const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(double));
        // a part of a record could end within an element
        if (bytes % static_cast<std::int64_t>(sizeof(double)) != 0 || count == 0 || element + count > want.count) {
            return ends(wrong, element);
        }
        if (!bytes_are(fd, place + kMark, want, element, count, wrong)) {
            return false;
        }
        std::int32_t behind = 0;
        if (!read_all(fd, &behind, kMark, place + kMark + bytes) ||
            (behind < 0 ? -std::int64_t{behind} : behind) != bytes) {
            return ends(wrong, element);
        }
        element += count;
        place += bytes + 2 * kMark;
    }
    return place == size || ends(wrong, element);
}

// Words between blanks and ends of lines, in parts: a word that a part cuts is looked at with the next.
bool holds_text(int fd, std::int64_t size, const Array& want, std::string& wrong) {
    std::vector<char> part;
    std::int64_t element = 0;
    for (std::int64_t place = 0; place < size;) {
        const std::size_t kept = part.size();
        const std::int64_t step = std::min(kPart, size - place);
        part.resize(kept + static_cast<std::size_t>(step));
        if (!read_all(fd, part.data() + kept, step, place)) {
            return ends(wrong, element);
        }
        place += step;
        const char* from = part.data();
        const char* const last = part.data() + part.size();
        while (true) {
            const char* begin = std::find_if(from, last, [](char c) { return c != ' ' && c != '\n'; });
            const char* end = std::find_if(begin, last, [](char c) { return c == ' ' || c == '\n'; });
            if (begin == last || (end == last && place < size)) {
                from = begin;
                break;
            }
            double value = 0;
            if (std::from_chars(begin, end, value).ptr != end || element == want.count) {
                return ends(wrong, element);
            }
            if (!same(value, want.data[element])) {
                return differs(wrong, element);
            }
            ++element;
            from = end;
        }
        part.erase(part.begin(), part.begin() + (from - part.data()));
    }
    return element == want.count || ends(wrong, element);
}

// Each element where its chunk's place, the rows of the chunk above it and the columns before it say that it is.
bool holds_chunks(int fd, std::int64_t size, const Array& want, std::string& wrong) {
    ChunkHeader header{};
    constexpr auto kPlace = static_cast<std::int64_t>(sizeof(std::int64_t));
    constexpr auto kHeader = static_cast<std::int64_t>(sizeof header);
    const std::int64_t row = std::min(want.row, want.count);
    if (!read_all(fd, &header, kHeader, 0) || header.mark != kChunkMark || header.count != want.count ||
        header.row != row || header.high < 1 || header.wide < 1) {
        return ends(wrong, 0);
    }
    const std::int64_t across = (row - 1) / header.wide + 1;
    const std::int64_t chunks = (want.count - 1) / (row * header.high) * across + across;
    if (size != kHeader + chunks * kPlace + want.count * static_cast<std::int64_t>(sizeof(double))) {
        wrong = "the file has " + std::to_string(size) + " bytes";
        return false;
    }
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        std::int64_t place = 0;
        if (!read_all(fd, &place, kPlace, kHeader + chunk * kPlace)) {
            return ends(wrong, 0);
        }
        const std::int64_t left = chunk % across * header.wide;
        const std::int64_t wide = std::min(header.wide, row - left);
        for (std::int64_t line = 0; line < header.high; ++line) {
            const std::int64_t first = (chunk / across * header.high + line) * row + left;
            const std::int64_t length = std::min(wide, want.count - first);
            const std::int64_t at = place + line * wide * static_cast<std::int64_t>(sizeof(double));
            if (length > 0 && !bytes_are(fd, at, want, first, length, wrong)) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace

bool same(double one, double other) { return std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(other); }

bool holds(const File& file, Format format, const Array& want, std::string& wrong) {
    const off_t size = lseek(file.fd, 0, SEEK_END);
    switch (format) {
        case Format::kText:
            return holds_text(file.fd, size, want, wrong);
        case Format::kBytes:
            return holds_bytes(file.fd, size, want, wrong);
        case Format::kRecords:
            return holds_records(file.fd, size, want, wrong);
        case Format::kChunks:
            return holds_chunks(file.fd, size, want, wrong);
    }
    return false;
}

}  // namespace fileio
