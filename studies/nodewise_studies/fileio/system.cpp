// SPDX-License-Identifier: BSD-3-Clause
// The system's own calls: write and read, and the same past the page cache (O_DIRECT).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "study.h"

namespace fileio {
namespace {

// What O_DIRECT wants addresses, lengths and places to be a multiple of, on all disks that are sold.
constexpr std::int64_t kAlign = 4096;

// A descriptor that is closed again.
class Open {
  public:
    Open(const File& file, int flags) : fd_(open_again(file, flags)) {}
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open() {
        if (fd_ >= 0) {
            close(fd_);
        }
    }
    int get() const { return fd_; }

  private:
    int fd_;
};

// One call for each `step` bytes; a call may take less.
bool put(const File& file, const Array& array, std::int64_t step) {
    const Open open(file, O_WRONLY);
    const auto* bytes = reinterpret_cast<const char*>(array.data);
    const std::int64_t all = array.count * kElementBytes;
    bool good = open.get() >= 0;
    for (std::int64_t at = 0; good && at < all;) {
        const char* from = step > kElementBytes ? file.memory(bytes, at, step) : bytes + at;
        const ssize_t done = write(open.get(), from, static_cast<std::size_t>(std::min(step, all - at)));
        good = done > 0;
        at += done;
    }
    return good;
}

bool get(const File& file, const Array& array, std::int64_t step) {
    const Open open(file, O_RDONLY);
    auto* bytes = reinterpret_cast<char*>(array.data);
    const std::int64_t all = array.count * kElementBytes;
    bool good = open.get() >= 0;
    for (std::int64_t at = 0; good && at < all;) {
        char* to = step > kElementBytes ? file.memory(bytes, at, step) : bytes + at;
        const ssize_t done = read(open.get(), to, static_cast<std::size_t>(std::min(step, all - at)));
        good = done > 0;
        at += done;
    }
    return good;
}

bool put_element(const File& f, const Array& a) { return put(f, a, kElementBytes); }
bool put_row(const File& f, const Array& a) { return put(f, a, a.row * kElementBytes); }
bool put_whole(const File& f, const Array& a) { return put(f, a, a.count * kElementBytes); }
bool get_element(const File& f, const Array& a) { return get(f, a, kElementBytes); }
bool get_row(const File& f, const Array& a) { return get(f, a, a.row * kElementBytes); }
bool get_whole(const File& f, const Array& a) { return get(f, a, a.count * kElementBytes); }

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};
using Bounce = std::unique_ptr<char, Free>;

Bounce bounce_of(std::int64_t bytes) {
    return Bounce(static_cast<char*>(std::aligned_alloc(kAlign, static_cast<std::size_t>(bytes))));
}

bool aligned(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % kAlign == 0; }

std::int64_t up(std::int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// In blocks; what is not aligned goes through memory that is, and the file is cut to its length in the end.
bool put_direct(const File& file, const Array& array) {
    const Open open(file, O_WRONLY | O_DIRECT);
    const Bounce bounce = bounce_of(up(file.block));
    const auto* bytes = reinterpret_cast<const char*>(array.data);
    const std::int64_t all = array.count * kElementBytes;
    bool good = open.get() >= 0 && bounce != nullptr;
    for (std::int64_t at = 0; good && at < all; at += file.block) {
        const std::int64_t step = std::min(file.block, all - at);
        const char* from = file.memory(bytes, at, file.block);
        if (!aligned(from) || step % kAlign != 0) {
            std::memcpy(bounce.get(), from, static_cast<std::size_t>(step));
            std::memset(bounce.get() + step, 0, static_cast<std::size_t>(up(step) - step));
            from = bounce.get();
        }
        good = write_all(open.get(), from, up(step), at);
    }
    return good && (all % kAlign == 0 || ftruncate(file.fd, all) == 0);
}

bool get_direct(const File& file, const Array& array) {
    const Open open(file, O_RDONLY | O_DIRECT);
    const Bounce bounce = bounce_of(up(file.block));
    auto* bytes = reinterpret_cast<char*>(array.data);
    const std::int64_t all = array.count * kElementBytes;
    bool good = open.get() >= 0 && bounce != nullptr;
    for (std::int64_t at = 0; good && at < all; at += file.block) {
        const std::int64_t step = std::min(file.block, all - at);
        char* const want = file.memory(bytes, at, file.block);
        char* to = aligned(want) && step % kAlign == 0 ? want : bounce.get();
        // the last block ends at the file's end, before the length that is asked for
        good = pread(open.get(), to, static_cast<std::size_t>(up(step)), at) == step;
        if (good && to == bounce.get()) {
            std::memcpy(want, to, static_cast<std::size_t>(step));
        }
    }
    return good;
}

}  // namespace

int open_again(const File& file, int flags) { return open(file.path.c_str(), flags | O_CLOEXEC); }

bool write_all(int fd, const void* data, std::int64_t bytes, std::int64_t at) {
    const auto* from = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t done = pwrite(fd, from, static_cast<std::size_t>(bytes), at);
        if (done <= 0) {
            return false;
        }
        from += done;
        at += done;
        bytes -= done;
    }
    return true;
}

bool read_all(int fd, void* data, std::int64_t bytes, std::int64_t at) {
    auto* to = static_cast<char*>(data);
    while (bytes > 0) {
        const ssize_t done = pread(fd, to, static_cast<std::size_t>(bytes), at);
        if (done <= 0) {
            errno = done == 0 ? ENODATA : errno;
            return false;
        }
        to += done;
        at += done;
        bytes -= done;
    }
    return true;
}

const Variant kWriteElement{"write-element", Format::kBytes, 1, put_element, get_element};
const Variant kWriteRow{"write-row", Format::kBytes, 1, put_row, get_row};
const Variant kWriteWhole{"write-whole", Format::kBytes, 1, put_whole, get_whole};
const Variant kDirectWhole{"direct-whole", Format::kBytes, 1, put_direct, get_direct};

}  // namespace fileio
