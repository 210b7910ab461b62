// SPDX-License-Identifier: BSD-3-Clause
// A variant of writing an array to a file and reading it back, and what the variants share.
#pragma once

#include <cstdint>
#include <string>

#include "abi/kernel.h"

namespace fileio {

// What a file looks like: text; the array's bytes; Fortran's sequential records, which have their length before and
// behind them; chunks of rows by columns, as HDF5 and NetCDF have them.
enum class Format { kText, kBytes, kRecords, kChunks };

// Bytes of an element.
inline constexpr std::int64_t kElementBytes = sizeof(double);

// The array: `count` elements, in rows of `row`, of which the last may be shorter.
struct Array {
    double* data;
    std::int64_t count;
    std::int64_t row;
};

// A file without a name, open as `fd`; `path` opens it once more. It is gone when it is closed, however that comes.
struct File {
    int fd;
    std::string path;
    std::int64_t block;             // bytes of one request, of variants that write in blocks
    std::int64_t depth;             // requests at a time, of io_uring
    std::int64_t chunk;             // rows and columns of a chunk
    bool again = false;             // whether requests are from and into the same memory again and again
    mutable double unmapping = 0;   // seconds that the end of a mapping took, of the variant's time
    mutable std::int64_t used = 0;  // bytes of memory that were used again and again, of the array's beginning

    // Where a request has its memory, of those that may use the same again: `span` bytes of it are used by turns.
    template <class Byte>
    Byte* memory(Byte* array, std::int64_t at, std::int64_t span) const {
        used = again ? span : 0;
        return array + (again ? at % span : at);
    }
};

// Elements after which the array repeats where memory is used again: a page of it, so that each page of a file is the
// same.
inline constexpr std::int64_t kPeriod = 512;

// What a file of chunks begins with. Then come the chunks' places in it, in rows of chunks, and the chunks, each row by
// row. Those at the right and lower edges hold only what is there.
struct ChunkHeader {
    std::int64_t mark;
    std::int64_t count;  // of elements
    std::int64_t row;    // elements of a row, none longer than the array
    std::int64_t high;   // rows of a chunk
    std::int64_t wide;   // columns of a chunk
};
inline constexpr std::int64_t kChunkMark = 0x736b6e756863776e;

// Both are false with errno set where they fail.
struct Variant {
    const char* name;
    Format format;
    double growth;  // bytes in the file for a byte of the array, at most
    bool (*write)(const File&, const Array&);
    bool (*read)(const File&, const Array&);
};

// Text needs 17 digits to give the same double back: with sign, point, exponent and a separator, so many bytes.
inline constexpr double kTextGrowth = 25.0 / 8;
// A record of one element has two lengths of four bytes.
inline constexpr double kRecordGrowth = 2;
// A chunk of one element has its place.
inline constexpr double kChunkGrowth = 2;

extern const Variant kCTextElement, kCTextRow, kCTextWhole, kCharconvWhole;
extern const Variant kCBytesElement, kCBytesRow, kCBytesWhole;
extern const Variant kWriteElement, kWriteRow, kWriteWhole;
extern const Variant kDirectWhole, kMmapWhole, kMmapAheadWhole;
extern const Variant kChunkedRow, kChunkedChunk, kChunkedWhole;
#ifdef NODEWISE_LIBURING
extern const Variant kUringWhole, kUringDirectWhole;
#endif
#ifdef NODEWISE_FORTRAN
extern const Variant kFortranTextElement, kFortranTextRow, kFortranTextWhole;
extern const Variant kFortranRecordElement, kFortranRecordRow, kFortranRecordWhole;
extern const Variant kFortranStreamElement, kFortranStreamRow, kFortranStreamWhole;
#endif

// Opens the file once more, with these flags; -1 where that fails.
int open_again(const File& file, int flags);

// All bytes at a place of a file, in as few calls as the system takes them in.
bool write_all(int fd, const void* data, std::int64_t bytes, std::int64_t at);
bool read_all(int fd, void* data, std::int64_t bytes, std::int64_t at);

// The same bits: zeros of either sign differ.
bool same(double one, double other);

// Whether the file holds the array, by a reader of its own for each format; else says what is wrong.
bool holds(const File& file, Format format, const Array& want, std::string& wrong);

int prepare_variant(nw_run* run, const Variant& variant);
int run_variant(nw_run* run, const Variant& variant);

int layout(nw_run* run);
int fill(nw_run* run);
int reset(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);
void release(nw_run* run);
int copy_in_memory(nw_run* run);

}  // namespace fileio
