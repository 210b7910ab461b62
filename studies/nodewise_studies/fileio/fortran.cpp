// SPDX-License-Identifier: BSD-3-Clause
// The variants that records.f90 has, where there is a compiler for it.
#ifdef NODEWISE_FORTRAN

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

#include "study.h"

extern "C" {
int nodewise_fortran_write(const char* path, int form, int by, std::int64_t row, std::int64_t count,
                           const double* values);
int nodewise_fortran_read(const char* path, int form, int by, std::int64_t row, std::int64_t count, double* values);
}

namespace fileio {
namespace {

// as records.f90 numbers them
enum Form { kText, kRecords, kStream };
enum By { kElement, kRow, kWhole };

// Fortran's own numbers for errors begin at 5000; below are the system's.
bool good(int status) {
    errno = status > 0 && status < 5000 ? status : EIO;
    return status == 0;
}

// The bytes that a file has at least: each element of a text is 25 characters, and a record has a mark at each end.
template <Form form, By by>
std::int64_t length(const Array& array) {
    constexpr std::int64_t kCharacters = 25;
    constexpr std::int64_t kMarks = 2 * sizeof(std::int32_t);
    constexpr std::int64_t kBytes = sizeof(double);
    const std::int64_t lines = by == kElement ? array.count : (array.count - 1) / array.row + 1;
    const std::int64_t records = by == kWhole ? 1 : lines;
    return form == kText      ? array.count * kCharacters + lines
           : form == kRecords ? array.count * kBytes + records * kMarks
                              : array.count * kBytes;
}

// libgfortran says nothing of a buffer that the disk had no room for: its file is short.
template <Form form, By by>
bool put(const File& file, const Array& array) {
    if (!good(nodewise_fortran_write(file.path.c_str(), form, by, array.row, array.count, array.data))) {
        return false;
    }
    struct stat seen{};
    if (fstat(file.fd, &seen) != 0) {
        return false;
    }
    errno = ENOSPC;
    return seen.st_size >= length<form, by>(array);
}

template <Form form, By by>
bool get(const File& file, const Array& array) {
    return good(nodewise_fortran_read(file.path.c_str(), form, by, array.row, array.count, array.data));
}

template <Form form, By by>
constexpr Variant variant(const char* name) {
    constexpr Format kFormats[] = {Format::kText, Format::kRecords, Format::kBytes};
    constexpr double kGrowths[] = {kTextGrowth + 1.0 / 8, kRecordGrowth, 1};
    return {name, kFormats[form], kGrowths[form], put<form, by>, get<form, by>};
}

}  // namespace

constexpr Variant kFortranTextElement = variant<kText, kElement>("fortran-formatted-element");
constexpr Variant kFortranTextRow = variant<kText, kRow>("fortran-formatted-row");
constexpr Variant kFortranTextWhole = variant<kText, kWhole>("fortran-formatted-whole");
constexpr Variant kFortranRecordElement = variant<kRecords, kElement>("fortran-unformatted-element");
constexpr Variant kFortranRecordRow = variant<kRecords, kRow>("fortran-unformatted-row");
constexpr Variant kFortranRecordWhole = variant<kRecords, kWhole>("fortran-unformatted-whole");
constexpr Variant kFortranStreamElement = variant<kStream, kElement>("fortran-stream-element");
constexpr Variant kFortranStreamRow = variant<kStream, kRow>("fortran-stream-row");
constexpr Variant kFortranStreamWhole = variant<kStream, kWhole>("fortran-stream-whole");

}  // namespace fileio

#endif
