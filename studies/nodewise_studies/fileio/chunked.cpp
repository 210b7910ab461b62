// SPDX-License-Identifier: BSD-3-Clause
// The array in chunks of rows by columns, as HDF5 and NetCDF store them: a chunk is together in the file, a row is not.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "study.h"

namespace fileio {
namespace {

// Where chunks are. The last row may be shorter, so chunks of the lowest row of them need not be rectangles.
class Grid {
  public:
    Grid(const Array& array, std::int64_t side)
        : array_{array.data, array.count, std::min(array.row, array.count)},
          rows_((array_.count - 1) / array_.row + 1),
          high_(std::min(side, rows_)),
          wide_(std::min(side, array_.row)),
          across_((array_.row - 1) / wide_ + 1),
          down_((rows_ - 1) / high_ + 1) {}

    struct Piece {
        std::int64_t from;  // its first element in the array
        std::int64_t length;
    };

    std::int64_t chunks() const { return across_ * down_; }
    ChunkHeader header() const { return {kChunkMark, array_.count, array_.row, high_, wide_}; }

    // What a row has of a column of chunks; the length is 0 where it ends before.
    Piece piece(std::int64_t row, std::int64_t column) const {
        const std::int64_t end = std::min(array_.row, array_.count - row * array_.row);
        const std::int64_t begin = column * wide_;
        return {row * array_.row + begin, std::clamp<std::int64_t>(end - begin, 0, wide_)};
    }

    // Calls `each` with the pieces of a chunk, from its first row on.
    template <class Each>
    void pieces(std::int64_t chunk, Each each) const {
        const std::int64_t top = chunk / across_ * high_;
        for (std::int64_t row = top; row < std::min(rows_, top + high_); ++row) {
            each(piece(row, chunk % across_));
        }
    }

    std::int64_t length(std::int64_t chunk) const {
        std::int64_t all = 0;
        pieces(chunk, [&](Piece piece) { all += piece.length; });
        return all;
    }

    std::int64_t most() const { return high_ * wide_; }
    std::int64_t rows() const { return rows_; }
    std::int64_t across() const { return across_; }
    std::int64_t high() const { return high_; }

    double* gather(std::int64_t chunk, double* to) const {
        pieces(chunk, [&](Piece piece) { to = std::copy_n(array_.data + piece.from, piece.length, to); });
        return to;
    }

    const double* scatter(std::int64_t chunk, const double* from) const {
        pieces(chunk, [&](Piece piece) {
            std::copy_n(from, piece.length, array_.data + piece.from);
            from += piece.length;
        });
        return from;
    }

    // Bytes before the first chunk.
    std::int64_t head() const {
        return static_cast<std::int64_t>(sizeof(ChunkHeader)) +
               chunks() * static_cast<std::int64_t>(sizeof(std::int64_t));
    }

    // The chunks' places, one behind the other.
    std::vector<std::int64_t> places() const {
        std::vector<std::int64_t> all(static_cast<std::size_t>(chunks()));
        std::int64_t place = head();
        for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) {
            all[static_cast<std::size_t>(chunk)] = place;
            place += length(chunk) * kElementBytes;
        }
        return all;
    }

  private:
    Array array_;
    std::int64_t rows_;
    std::int64_t high_;
    std::int64_t wide_;
    std::int64_t across_;
    std::int64_t down_;
};

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};
using Room = std::unique_ptr<char, Free>;

// Memory that nothing is in yet, on huge pages where there are: a fault for each small page takes as long as the copy.
Room room_of(std::int64_t bytes) {
    constexpr std::size_t kHugePage = 2 << 20;
    const std::size_t whole = (static_cast<std::size_t>(bytes) + kHugePage - 1) / kHugePage * kHugePage;
    Room room(static_cast<char*>(std::aligned_alloc(kHugePage, whole)));
    if (room != nullptr) {
        madvise(room.get(), whole, MADV_HUGEPAGE);
    }
    return room;
}

// What the file begins with.
void put_head(const Grid& grid, const std::vector<std::int64_t>& places, char* to) {
    const ChunkHeader header = grid.header();
    std::memcpy(to, &header, sizeof header);
    std::memcpy(to + sizeof header, places.data(), places.size() * sizeof(std::int64_t));
}

bool write_head(int fd, const Grid& grid, const std::vector<std::int64_t>& places) {
    std::vector<char> head(static_cast<std::size_t>(grid.head()));
    put_head(grid, places, head.data());
    return write_all(fd, head.data(), grid.head(), 0);
}

// The places that the file names, after a look at whether it is of this array and these chunks.
bool read_head(int fd, const Grid& grid, std::vector<std::int64_t>& places) {
    ChunkHeader header{};
    const ChunkHeader want = grid.header();
    places.resize(static_cast<std::size_t>(grid.chunks()));
    if (!read_all(fd, &header, sizeof header, 0) ||
        !read_all(fd, places.data(), grid.chunks() * static_cast<std::int64_t>(sizeof(std::int64_t)), sizeof header)) {
        return false;
    }
    errno = EINVAL;
    return std::memcmp(&header, &want, sizeof header) == 0;
}

// Each chunk by a call.
bool put_chunks(const File& file, const Array& array) {
    const Grid grid(array, file.chunk);
    const std::vector<std::int64_t> places = grid.places();
    std::vector<double> one(static_cast<std::size_t>(grid.most()));
    bool good = write_head(file.fd, grid, places);
    for (std::int64_t chunk = 0; good && chunk < grid.chunks(); ++chunk) {
        const std::int64_t bytes = (grid.gather(chunk, one.data()) - one.data()) * kElementBytes;
        good = write_all(file.fd, one.data(), bytes, places[static_cast<std::size_t>(chunk)]);
    }
    return good;
}

bool get_chunks(const File& file, const Array& array) {
    const Grid grid(array, file.chunk);
    std::vector<std::int64_t> places;
    std::vector<double> one(static_cast<std::size_t>(grid.most()));
    bool good = read_head(file.fd, grid, places);
    for (std::int64_t chunk = 0; good && chunk < grid.chunks(); ++chunk) {
        good =
            read_all(file.fd, one.data(), grid.length(chunk) * kElementBytes, places[static_cast<std::size_t>(chunk)]);
        grid.scatter(chunk, one.data());
    }
    return good;
}

// Row by row, as a program has them that makes one at a time: each is cut into the chunks that it goes through, with a
// call for each piece.
template <class Call>
bool by_rows(const Grid& grid, const std::vector<std::int64_t>& places, Call call) {
    bool good = true;
    std::vector<std::int64_t> next(static_cast<std::size_t>(grid.across()));  // where the next piece of a column goes
    for (std::int64_t row = 0; good && row < grid.rows(); ++row) {
        if (row % grid.high() == 0) {
            std::copy_n(places.begin() + row / grid.high() * grid.across(), grid.across(), next.begin());
        }
        for (std::int64_t column = 0; good && column < grid.across(); ++column) {
            const Grid::Piece piece = grid.piece(row, column);
            std::int64_t& place = next[static_cast<std::size_t>(column)];
            good = call(piece.from, piece.length * kElementBytes, place);
            place += piece.length * kElementBytes;
        }
    }
    return good;
}

bool put_rows(const File& file, const Array& array) {
    const Grid grid(array, file.chunk);
    const std::vector<std::int64_t> places = grid.places();
    return write_head(file.fd, grid, places) &&
           by_rows(grid, places, [&](std::int64_t from, std::int64_t bytes, std::int64_t place) {
               return write_all(file.fd, array.data + from, bytes, place);
           });
}

bool get_rows(const File& file, const Array& array) {
    const Grid grid(array, file.chunk);
    std::vector<std::int64_t> places;
    return read_head(file.fd, grid, places) &&
           by_rows(grid, places, [&](std::int64_t from, std::int64_t bytes, std::int64_t place) {
               return read_all(file.fd, array.data + from, bytes, place);
           });
}

// The whole file by a call, its chunks made in memory.
bool put_whole(const File& file, const Array& array) {
    const Grid grid(array, file.chunk);
    const std::int64_t bytes = grid.head() + array.count * kElementBytes;
    const Room image = room_of(bytes);
    if (image == nullptr) {
        return false;
    }
    put_head(grid, grid.places(), image.get());
    auto* to = reinterpret_cast<double*>(image.get() + grid.head());
    for (std::int64_t chunk = 0; chunk < grid.chunks(); ++chunk) {
        to = grid.gather(chunk, to);
    }
    return write_all(file.fd, image.get(), bytes, 0);
}

bool get_whole(const File& file, const Array& array) {
    const Grid grid(array, file.chunk);
    std::vector<std::int64_t> places;
    const Room room = room_of(array.count * kElementBytes);
    const auto* all = reinterpret_cast<const double*>(room.get());
    if (all == nullptr || !read_head(file.fd, grid, places) ||
        !read_all(file.fd, room.get(), array.count * kElementBytes, grid.head())) {
        return false;
    }
    for (std::int64_t chunk = 0; chunk < grid.chunks(); ++chunk) {
        const std::int64_t at = (places[static_cast<std::size_t>(chunk)] - grid.head()) / kElementBytes;
        if (at < 0 || at + grid.length(chunk) > array.count) {
            errno = EINVAL;
            return false;
        }
        grid.scatter(chunk, all + at);
    }
    return true;
}

}  // namespace

const Variant kChunkedRow{"chunked-row", Format::kChunks, kChunkGrowth, put_rows, get_rows};
const Variant kChunkedChunk{"chunked-chunk", Format::kChunks, kChunkGrowth, put_chunks, get_chunks};
const Variant kChunkedWhole{"chunked-whole", Format::kChunks, kChunkGrowth, put_whole, get_whole};

}  // namespace fileio
