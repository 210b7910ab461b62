// SPDX-License-Identifier: BSD-3-Clause
// A mapping of the file: copied to and from in blocks as they are, or with its pages made or read ahead of the copy.
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
#include "study.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; older headers have no name for it
#endif

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

void copy(char* to, const char* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

// Pages in order, a block ahead of the copy: a large memcpy writes to the last one of a block early, and the system,
// which then sees no order, makes small pages one by one. Where the kernel has no such call, the copy makes them.
void copy_to_made_pages(char* to, const char* from, std::size_t bytes) {
    madvise(to, bytes, MADV_POPULATE_WRITE);
    std::memcpy(to, from, bytes);
}

using Copy = void (*)(char*, const char*, std::size_t);

// Calls `each` with the place and the length of each block.
template <class Each>
void in_blocks(std::int64_t bytes, std::int64_t block, Each each) {
    for (std::int64_t at = 0; at < bytes; at += block) {
        each(at, static_cast<std::size_t>(std::min(block, bytes - at)));
    }
}

bool unmap(const File& file, void* map, std::size_t bytes) {
    const auto begin = std::chrono::steady_clock::now();
    const bool good = munmap(map, bytes) == 0;
    file.unmapping = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return good;
}

// The file is made as long as the array and its pages are written to; the system brings them to the disk.
bool put_mapped(const File& file, const Array& array, Copy copy, std::int64_t block) {
    signal(SIGBUS, lost_page);
    const auto bytes = static_cast<std::size_t>(array.count * kElementBytes);
    if (ftruncate(file.fd, static_cast<off_t>(bytes)) != 0) {
        return false;
    }
    void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    const auto* data = reinterpret_cast<const char*>(array.data);
    in_blocks(array.count * kElementBytes, block, [&](std::int64_t at, std::size_t length) {
        copy(static_cast<char*>(map) + at, file.memory(data, at, block), length);
    });
    return unmap(file, map, bytes);
}

bool get_mapped(const File& file, const Array& array, Copy copy, std::int64_t block, int advice) {
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
    madvise(map, bytes, advice);
    auto* data = reinterpret_cast<char*>(array.data);
    in_blocks(array.count * kElementBytes, block, [&](std::int64_t at, std::size_t length) {
        copy(file.memory(data, at, block), static_cast<const char*>(map) + at, length);
    });
    return unmap(file, map, bytes);
}

bool put_plain(const File& f, const Array& a) { return put_mapped(f, a, copy, f.block); }
bool get_plain(const File& f, const Array& a) { return get_mapped(f, a, copy, f.block, MADV_NORMAL); }

// Small enough for what is made to be in the cache when it is copied to.
constexpr std::int64_t kAheadBlock = 1 << 20;
bool put_ahead(const File& f, const Array& a) { return put_mapped(f, a, copy_to_made_pages, kAheadBlock); }

bool get_ahead(const File& f, const Array& a) {
    const bool large = nw_exceeds_cache(static_cast<std::size_t>(a.count * kElementBytes)) != 0;
    // by memcpy of small pieces: in larger ones it goes to their ends early, and nothing is read ahead
    constexpr std::int64_t kPiece = 16 << 10;
    return get_mapped(f, a, large ? copy_past_caches : copy, large ? kAheadBlock : kPiece, MADV_SEQUENTIAL);
}

}  // namespace

const Variant kMmapWhole{"mmap-whole", Format::kBytes, 1, put_plain, get_plain};
const Variant kMmapAheadWhole{"mmap-ahead-whole", Format::kBytes, 1, put_ahead, get_ahead};

}  // namespace fileio
