// SPDX-License-Identifier: BSD-3-Clause
// C's stdio: text by fprintf, bytes by fwrite; an element, a row or everything with a call.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "study.h"

namespace fileio {
namespace {

// "%.17g" of a double and a separator, with the zero that ends a string
constexpr std::size_t kMostText = 26;

// A stream on the file; what was written is lost if closing fails, so that is reported.
class Stream {
  public:
    Stream(const File& file, bool write) {
        const int fd = open_again(file, write ? O_WRONLY : O_RDONLY);
        stream_ = fd < 0 ? nullptr : fdopen(fd, write ? "w" : "r");
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { close(); }

    std::FILE* get() const { return stream_; }
    bool close() {
        std::FILE* closing = stream_;
        stream_ = nullptr;
        return closing != nullptr && std::fclose(closing) == 0;
    }

  private:
    std::FILE* stream_ = nullptr;
};

std::int64_t row_end(const Array& array, std::int64_t begin) { return std::min(begin + array.row, array.count); }

bool text_element(const File& file, const Array& array) {
    Stream stream(file, true);
    bool good = stream.get() != nullptr;
    for (std::int64_t i = 0; good && i < array.count; ++i) {
        good = std::fprintf(stream.get(), "%.17g\n", array.data[i]) > 0;
    }
    return stream.close() && good;
}

// Appends a number and what separates it from the next.
char* put_number(char* to, double value, char separator) {
    const int length = std::snprintf(to, kMostText, "%.17g", value);
    to[length] = separator;
    return to + length + 1;
}

bool text_row(const File& file, const Array& array) {
    Stream stream(file, true);
    bool good = stream.get() != nullptr;
    std::vector<char> line(kMostText * static_cast<std::size_t>(array.row));
    for (std::int64_t begin = 0; good && begin < array.count; begin += array.row) {
        const std::int64_t end = row_end(array, begin);
        char* to = line.data();
        for (std::int64_t i = begin; i < end; ++i) {
            to = put_number(to, array.data[i], i + 1 == end ? '\n' : ' ');
        }
        const auto length = static_cast<std::size_t>(to - line.data());
        good = std::fwrite(line.data(), 1, length, stream.get()) == length;
    }
    return stream.close() && good;
}

bool text_whole(const File& file, const Array& array) {
    std::vector<char> text(kMostText * static_cast<std::size_t>(array.count));
    char* to = text.data();
    for (std::int64_t i = 0; i < array.count; ++i) {
        to = put_number(to, array.data[i], (i + 1) % array.row == 0 ? '\n' : ' ');
    }
    const auto length = static_cast<std::size_t>(to - text.data());
    Stream stream(file, true);
    const bool good = stream.get() != nullptr && std::fwrite(text.data(), 1, length, stream.get()) == length;
    return stream.close() && good;
}

// The shortest digits that give the same double back, made by <charconv>.
bool charconv_whole(const File& file, const Array& array) {
    std::vector<char> text(kMostText * static_cast<std::size_t>(array.count));
    char* to = text.data();
    for (std::int64_t i = 0; i < array.count; ++i) {
        to = std::to_chars(to, to + kMostText, array.data[i]).ptr;
        *to++ = (i + 1) % array.row == 0 ? '\n' : ' ';
    }
    return write_all(file.fd, text.data(), to - text.data(), 0);
}

bool read_text_element(const File& file, const Array& array) {
    Stream stream(file, false);
    bool good = stream.get() != nullptr;
    for (std::int64_t i = 0; good && i < array.count; ++i) {
        good = std::fscanf(stream.get(), "%lf", array.data + i) == 1;  // NOLINT: what is no number is reported
    }
    return good;
}

bool read_text_row(const File& file, const Array& array) {
    Stream stream(file, false);
    if (stream.get() == nullptr) {
        return false;
    }
    char* line = nullptr;
    std::size_t room = 0;
    bool good = true;
    for (std::int64_t begin = 0; good && begin < array.count; begin += array.row) {
        good = getline(&line, &room, stream.get()) > 0;
        char* from = line;
        for (std::int64_t i = begin; good && i < row_end(array, begin); ++i) {
            char* end = nullptr;
            array.data[i] = std::strtod(from, &end);
            good = end != from;
            from = end;
        }
    }
    std::free(line);
    return good;
}

// The whole file's text, with a zero behind it; empty where it cannot be read.
std::vector<char> text_of(const File& file) {
    const off_t size = lseek(file.fd, 0, SEEK_END);
    std::vector<char> text(static_cast<std::size_t>(std::max<off_t>(size, 0)) + 1);
    if (size < 0 || !read_all(file.fd, text.data(), size, 0)) {
        text.clear();
    }
    return text;
}

bool read_text_whole(const File& file, const Array& array) {
    const std::vector<char> text = text_of(file);
    const char* from = text.data();
    bool good = !text.empty();
    for (std::int64_t i = 0; good && i < array.count; ++i) {
        char* end = nullptr;
        array.data[i] = std::strtod(from, &end);
        good = end != from;
        from = end;
    }
    return good;
}

bool read_charconv(const File& file, const Array& array) {
    const std::vector<char> text = text_of(file);
    const char* from = text.data();
    const char* const last = from + text.size();
    bool good = !text.empty();
    for (std::int64_t i = 0; good && i < array.count; ++i) {
        const std::from_chars_result result = std::from_chars(from, last, array.data[i]);
        good = result.ec == std::errc();
        from = result.ptr + 1;
    }
    return good;
}

// Bytes, so many elements with a call.
bool put_bytes(const File& file, const Array& array, std::int64_t step) {
    Stream stream(file, true);
    bool good = stream.get() != nullptr;
    for (std::int64_t i = 0; good && i < array.count; i += step) {
        const auto count = static_cast<std::size_t>(std::min(step, array.count - i));
        good = std::fwrite(array.data + i, sizeof(double), count, stream.get()) == count;
    }
    return stream.close() && good;
}

bool get_bytes(const File& file, const Array& array, std::int64_t step) {
    Stream stream(file, false);
    bool good = stream.get() != nullptr;
    for (std::int64_t i = 0; good && i < array.count; i += step) {
        const auto count = static_cast<std::size_t>(std::min(step, array.count - i));
        good = std::fread(array.data + i, sizeof(double), count, stream.get()) == count;
    }
    return good;
}

bool put_element(const File& f, const Array& a) { return put_bytes(f, a, 1); }
bool put_row(const File& f, const Array& a) { return put_bytes(f, a, a.row); }
bool put_whole(const File& f, const Array& a) { return put_bytes(f, a, a.count); }
bool get_element(const File& f, const Array& a) { return get_bytes(f, a, 1); }
bool get_row(const File& f, const Array& a) { return get_bytes(f, a, a.row); }
bool get_whole(const File& f, const Array& a) { return get_bytes(f, a, a.count); }

}  // namespace

const Variant kCTextElement{"c-formatted-element", Format::kText, kTextGrowth, text_element, read_text_element};
const Variant kCTextRow{"c-formatted-row", Format::kText, kTextGrowth, text_row, read_text_row};
const Variant kCTextWhole{"c-formatted-whole", Format::kText, kTextGrowth, text_whole, read_text_whole};
const Variant kCharconvWhole{"charconv-formatted-whole", Format::kText, kTextGrowth, charconv_whole, read_charconv};
const Variant kCBytesElement{"c-unformatted-element", Format::kBytes, 1, put_element, get_element};
const Variant kCBytesRow{"c-unformatted-row", Format::kBytes, 1, put_row, get_row};
const Variant kCBytesWhole{"c-unformatted-whole", Format::kBytes, 1, put_whole, get_whole};

}  // namespace fileio
