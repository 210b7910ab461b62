// SPDX-License-Identifier: BSD-3-Clause
// io_uring by the system's calls themselves: blocks of the array, `depth` of them under way at a time.
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "way.h"

namespace fileio {
namespace {

constexpr std::int64_t kElement = sizeof(double);
constexpr std::int64_t kAlign = 4096;

template <class Type>
Type* at_offset(void* base, std::uint32_t offset) {
    return reinterpret_cast<Type*>(static_cast<char*>(base) + offset);
}

// A pair of rings shared with the kernel. Ours is the only thread that uses them, so only the ends that the kernel
// moves, and those that it looks at, are ordered.
class Ring {
  public:
    explicit Ring(unsigned depth) {
        io_uring_params params{};
        fd_ = static_cast<int>(syscall(__NR_io_uring_setup, depth, &params));
        if (fd_ < 0) {
            why_ = errno;
            return;
        }
        const std::size_t submit = params.sq_off.array + params.sq_entries * sizeof(std::uint32_t);
        const std::size_t complete = params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe);
        submit_ = map(submit, IORING_OFF_SQ_RING);
        complete_ = map(complete, IORING_OFF_CQ_RING);
        entries_ = static_cast<io_uring_sqe*>(map(params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
        if (submit_ == MAP_FAILED || complete_ == MAP_FAILED || entries_ == MAP_FAILED) {
            why_ = errno;
            close(fd_);
            fd_ = -1;
            return;
        }
        params_ = params;
    }

    bool good() const { return fd_ >= 0; }
    int why() const { return why_; }  // the error, where it is not good

    // Queues a request; there are never more than the depth.
    void queue(unsigned char code, int file, void* data, std::int64_t bytes, std::int64_t place, std::uint64_t tag) {
        auto* tail = at_offset<std::uint32_t>(submit_, params_.sq_off.tail);
        const std::uint32_t slot = *tail & (params_.sq_entries - 1);
        io_uring_sqe& entry = entries_[slot];
        std::memset(&entry, 0, sizeof entry);
        entry.opcode = code;
        entry.fd = file;
        entry.addr = reinterpret_cast<std::uint64_t>(data);
        entry.len = static_cast<std::uint32_t>(bytes);
        entry.off = static_cast<std::uint64_t>(place);
        entry.user_data = tag;
        at_offset<std::uint32_t>(submit_, params_.sq_off.array)[slot] = slot;
        std::atomic_ref(*tail).store(*tail + 1, std::memory_order_release);
        ++waiting_;
    }

    // Hands over what is queued and waits for at least one that is done.
    bool enter() {
        while (waiting_ > 0 || !ready()) {
            const long taken = syscall(__NR_io_uring_enter, fd_, waiting_, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
            if (taken < 0 && errno != EINTR) {
                return false;
            }
            waiting_ -= taken > 0 ? static_cast<unsigned>(taken) : 0;
        }
        return true;
    }

    bool ready() const {
        auto* tail = at_offset<std::uint32_t>(complete_, params_.cq_off.tail);
        return std::atomic_ref(*tail).load(std::memory_order_acquire) !=
               *at_offset<std::uint32_t>(complete_, params_.cq_off.head);
    }

    io_uring_cqe take() {
        auto* head = at_offset<std::uint32_t>(complete_, params_.cq_off.head);
        const std::uint32_t slot = *head & (params_.cq_entries - 1);
        const io_uring_cqe done = at_offset<io_uring_cqe>(complete_, params_.cq_off.cqes)[slot];
        std::atomic_ref(*head).store(*head + 1, std::memory_order_release);
        return done;
    }

  private:
    void* map(std::size_t bytes, off_t what) const {
        return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, what);
    }

    int fd_ = -1;
    int why_ = 0;
    unsigned waiting_ = 0;
    void* submit_ = nullptr;
    void* complete_ = nullptr;
    io_uring_sqe* entries_ = nullptr;
    io_uring_params params_{};
};

// One ring for the process, made when it is first needed, which is before anything is timed; it ends with the process.
Ring& ring_of(std::int64_t depth) {
    static Ring ring(static_cast<unsigned>(depth));
    return ring;
}

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

// Where the blocks are in memory: the array itself, or memory that is aligned as O_DIRECT wants it, a piece for each
// request under way.
struct Job {
    unsigned char code;
    int fd;
    char* bytes;
    std::int64_t all;
    std::int64_t block;
    std::int64_t depth;
    char* bounce;  // null where the array is used itself

    std::int64_t length(std::int64_t at) const { return std::min(block, all - at); }
    std::int64_t asked(std::int64_t at) const {
        return bounce != nullptr ? (length(at) + kAlign - 1) / kAlign * kAlign : length(at);
    }
};

void start(Ring& ring, const Job& job, std::int64_t at, std::int64_t slot) {
    char* memory = job.bytes + at;
    if (job.bounce != nullptr) {
        memory = job.bounce + slot * job.block;
        if (job.code == IORING_OP_WRITE) {
            const auto length = static_cast<std::size_t>(job.length(at));
            std::memcpy(memory, job.bytes + at, length);
            std::memset(memory + length, 0, static_cast<std::size_t>(job.asked(at)) - length);
        }
    }
    ring.queue(job.code, job.fd, memory, job.asked(at), at, static_cast<std::uint64_t>(slot));
}

// What is done was read or written whole; else the rest of the block is done by an ordinary call.
bool finish(const Job& job, std::int64_t at, std::int64_t slot, std::int64_t done) {
    if (done < 0) {
        errno = static_cast<int>(-done);
        return false;
    }
    const std::int64_t want = job.code == IORING_OP_WRITE ? job.asked(at) : job.length(at);
    char* memory = job.bounce != nullptr ? job.bounce + slot * job.block : job.bytes + at;
    if (done < want) {
        const bool good = job.code == IORING_OP_WRITE ? write_all(job.fd, memory + done, want - done, at + done)
                                                      : read_all(job.fd, memory + done, want - done, at + done);
        if (!good) {
            return false;
        }
    }
    if (job.bounce != nullptr && job.code == IORING_OP_READ) {
        std::memcpy(job.bytes + at, memory, static_cast<std::size_t>(job.length(at)));
    }
    return true;
}

bool transfer(const Job& job) {
    Ring& ring = ring_of(job.depth);
    if (!ring.good()) {
        errno = ring.why();
        return false;
    }
    std::vector<std::int64_t> place(static_cast<std::size_t>(job.depth));
    std::int64_t next = 0;
    std::int64_t under_way = 0;
    for (; under_way < job.depth && next < job.all; next += job.block, ++under_way) {
        place[static_cast<std::size_t>(under_way)] = next;
        start(ring, job, next, under_way);
    }
    bool good = true;
    int wrong = 0;
    while (under_way > 0 && ring.enter()) {
        while (ring.ready()) {
            const io_uring_cqe done = ring.take();
            const auto slot = static_cast<std::int64_t>(done.user_data);
            std::int64_t& at = place[static_cast<std::size_t>(slot)];
            --under_way;
            if (!finish(job, at, slot, done.res)) {
                good = false;
                wrong = errno;
            }
            // after an error what is under way still uses our memory: it is waited for, and nothing new begins
            if (good && next < job.all) {
                at = next;
                start(ring, job, at, slot);
                next += job.block;
                ++under_way;
            }
        }
    }
    errno = good ? errno : wrong;
    return good && under_way == 0;
}

bool by_ring(const File& file, const Array& array, unsigned char code, bool direct) {
    const int access = code == IORING_OP_WRITE ? O_WRONLY : O_RDONLY;
    const int fd = open_again(file, direct ? access | O_DIRECT : access);
    if (fd < 0) {
        return false;
    }
    Job job{code, fd, reinterpret_cast<char*>(array.data), array.count * kElement, file.block, file.depth, nullptr};
    std::unique_ptr<char, Free> bounce;
    const bool fits = reinterpret_cast<std::uintptr_t>(array.data) % kAlign == 0 && job.all % kAlign == 0;
    bool good = true;
    if (direct && !fits) {
        const auto room = static_cast<std::size_t>(file.depth * file.block);
        bounce.reset(static_cast<char*>(std::aligned_alloc(kAlign, room)));
        job.bounce = bounce.get();
        good = bounce != nullptr;
    }
    good = good && transfer(job);
    if (good && code == IORING_OP_WRITE && job.all % kAlign != 0) {
        good = ftruncate(file.fd, job.all) == 0;
    }
    const int wrong = errno;
    close(fd);
    errno = wrong;
    return good;
}

bool put_cached(const File& f, const Array& a) { return by_ring(f, a, IORING_OP_WRITE, false); }
bool get_cached(const File& f, const Array& a) { return by_ring(f, a, IORING_OP_READ, false); }
bool put_direct(const File& f, const Array& a) { return by_ring(f, a, IORING_OP_WRITE, true); }
bool get_direct(const File& f, const Array& a) { return by_ring(f, a, IORING_OP_READ, true); }

}  // namespace

const Way kUringWhole{"uring-whole", Format::kBytes, 1, put_cached, get_cached};
const Way kUringDirectWhole{"uring-direct-whole", Format::kBytes, 1, put_direct, get_direct};

}  // namespace fileio
