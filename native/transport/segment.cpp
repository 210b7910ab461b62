// SPDX-License-Identifier: BSD-3-Clause
#include "transport/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <utility>

#include "transport/error.h"

namespace nodewise::transport {

namespace {
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
}

Fd make_segment(std::uint64_t bytes) {
    rlimit most{};
    // beyond it a signal would come, not an error
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY && bytes > most.rlim_cur) {
        fail_system("no shared memory of " + std::to_string(bytes) + " bytes below this process's limit (ulimit -f)",
                    EFBIG);
    }
    Fd fd(checked(memfd_create("nodewise-transport", MFD_CLOEXEC | MFD_ALLOW_SEALING), "memfd_create"));
    checked(fchmod(fd.get(), 0600), "fchmod of shared memory");
    const int full = posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
    if (full != 0) {
        fail_system("no shared memory of " + std::to_string(bytes) + " bytes", full);
    }
    checked(fcntl(fd.get(), F_ADD_SEALS, kSeals), "sealing shared memory");
    return fd;
}

void check_segment(const Fd& fd, std::uint64_t bytes) {
    struct stat found{};
    const int seals = fcntl(fd.get(), F_GET_SEALS);
    if (seals == -1 || (seals & kSeals) != kSeals) {
        throw Damaged("the peer's shared memory could change its size");
    }
    if (fstat(fd.get(), &found) != 0 || static_cast<std::uint64_t>(found.st_size) != bytes) {
        throw Damaged("the peer's shared memory is not of the size that it said");
    }
}

Mapping::Mapping(const Fd& fd, std::uint64_t offset, std::uint64_t bytes, bool writable, int times)
    : length_(bytes * static_cast<std::uint64_t>(times)) {
    void* space = mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (space == MAP_FAILED) {
        fail_system("mapping shared memory");
    }
    data_ = static_cast<std::byte*>(space);
    const int allowed = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    for (std::uint64_t at = 0; at < length_; at += bytes) {
        if (mmap(data_ + at, bytes, allowed, MAP_SHARED | MAP_FIXED, fd.get(), static_cast<off_t>(offset)) ==
            MAP_FAILED) {
            const int code = errno;
            munmap(data_, length_);
            fail_system("mapping shared memory", code);
        }
    }
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), length_(std::exchange(other.length_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(length_, other.length_);
    return *this;
}

Mapping::~Mapping() {
    if (data_ != nullptr) {
        munmap(data_, length_);
    }
}

}  // namespace nodewise::transport
