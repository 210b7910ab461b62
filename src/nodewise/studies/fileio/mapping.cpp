// SPDX-License-Identifier: BSD-3-Clause
// A mapping of the file, written to and read in blocks.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "way.h"

namespace fileio {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A page of a mapping that the disk has no room for, or cannot read, ends the process; it says why.
void lost_page(int /*signal*/) {
    constexpr char kSaid[] = "nodewise-worker: mmap-whole: the disk is full, or a page of the file cannot be read\n";
    [[maybe_unused]] const ssize_t done = write(STDERR_FILENO, kSaid, sizeof kSaid - 1);
    _exit(1);
}

// A copy that does not read what it overwrites, nor keeps it in the caches; in order, as reading ahead wants it.
void copy_past_caches(char* to, const char* from, std::size_t bytes) {
    // the next page of a mapping is anywhere in memory, so no hardware goes there ahead
    constexpr std::size_t kAhead = 2048;
    constexpr std::size_t kLine = 64;
    const hn::CappedTag<std::uint8_t, kLine> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t at = std::min(bytes, (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine);
    std::memcpy(to, from, at);
    for (; at + kLine <= bytes; at += kLine) {
        hwy::Prefetch(from + at + kAhead);
        for (std::size_t i = at; i < at + kLine; i += lanes) {
            hn::Stream(hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from) + i), d,
                       reinterpret_cast<std::uint8_t*>(to) + i);
        }
    }
    hwy::FlushStream();
    std::memcpy(to + at, from + at, bytes - at);
}

// In blocks: one large memcpy may go through several pages at once, which looks like no order at all.
template <typename Copy>
void in_blocks(char* to, const char* from, std::size_t bytes, std::int64_t block, Copy copy) {
    const auto step = static_cast<std::size_t>(block);
    for (std::size_t at = 0; at < bytes; at += step) {
        copy(to + at, from + at, std::min(step, bytes - at));
    }
}

bool unmap(const File& file, void* map, std::size_t bytes) {
    const auto begin = std::chrono::steady_clock::now();
    const bool good = munmap(map, bytes) == 0;
    file.unmapping = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return good;
}

// The file is made as long as the array and its pages are written to; the system brings them to the disk.
bool put_mapped(const File& file, const Array& array) {
    signal(SIGBUS, lost_page);
    const auto bytes = static_cast<std::size_t>(array.count * kElementBytes);
    if (ftruncate(file.fd, static_cast<off_t>(bytes)) != 0) {
        return false;
    }
    void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    // by memcpy: past the caches it took 1.09 times as long on tmpfs, where each page is cleared just before
    in_blocks(static_cast<char*>(map), reinterpret_cast<const char*>(array.data), bytes, file.block, std::memcpy);
    return unmap(file, map, bytes);
}

bool get_mapped(const File& file, const Array& array) {
    signal(SIGBUS, lost_page);
    const auto bytes = static_cast<std::size_t>(array.count * kElementBytes);
    if (lseek(file.fd, 0, SEEK_END) < static_cast<off_t>(bytes)) {
        errno = ENODATA;
        return false;
    }
    void* map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.fd, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    madvise(map, bytes, MADV_SEQUENTIAL);
    auto* to = reinterpret_cast<char*>(array.data);
    if (nw_exceeds_cache(bytes) != 0) {
        in_blocks(to, static_cast<const char*>(map), bytes, file.block, copy_past_caches);
    } else {
        in_blocks(to, static_cast<const char*>(map), bytes, file.block, std::memcpy);
    }
    return unmap(file, map, bytes);
}

}  // namespace

const Way kMmapWhole{"mmap-whole", Format::kBytes, 1, put_mapped, get_mapped};

}  // namespace fileio
