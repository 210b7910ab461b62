// SPDX-License-Identifier: BSD-3-Clause
// io_uring by liburing, where there is one: blocks of the array, `depth` of them under way at a time.
#ifdef NODEWISE_LIBURING

#include <fcntl.h>
#include <liburing.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "study.h"

namespace fileio {
namespace {

constexpr std::int64_t kAlign = 4096;

// liburing's rings, for this thread alone: completions are dealt with when it asks for them (DEFER_TASKRUN), where the
// kernel knows that.
class Ring {
  public:
    explicit Ring(unsigned depth) {
        why_ = -io_uring_queue_init(depth, &ring_, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
        if (why_ == EINVAL) {
            why_ = -io_uring_queue_init(depth, &ring_, 0);
        }
    }

    int why() const { return why_; }  // the error; 0 where there is none

    // Queues a request; there are never more than the depth, so there is always an entry for it.
    void queue(bool writes, int file, void* data, std::int64_t bytes, std::int64_t place, std::uint64_t tag) {
        io_uring_sqe* entry = io_uring_get_sqe(&ring_);
        const auto length = static_cast<unsigned>(bytes);
        if (writes) {
            io_uring_prep_write(entry, file, data, length, static_cast<std::uint64_t>(place));
        } else {
            io_uring_prep_read(entry, file, data, length, static_cast<std::uint64_t>(place));
        }
        io_uring_sqe_set_data64(entry, tag);
    }

    // Hands over what is queued and waits for one that is done; null with errno set where that fails.
    io_uring_cqe* wait() {
        io_uring_cqe* done = nullptr;
        while (io_uring_peek_cqe(&ring_, &done) != 0) {
            const int taken = io_uring_submit_and_wait(&ring_, 1);
            if (taken < 0 && taken != -EINTR) {
                errno = -taken;
                return nullptr;
            }
        }
        return done;
    }

    // Another that is done already; null where there is none.
    io_uring_cqe* next(io_uring_cqe* seen) {
        io_uring_cqe* done = nullptr;
        io_uring_cqe_seen(&ring_, seen);
        return io_uring_peek_cqe(&ring_, &done) == 0 ? done : nullptr;
    }

  private:
    io_uring ring_{};
    int why_ = 0;
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
    bool writes;
    int fd;
    char* bytes;
    std::int64_t all;
    std::int64_t block;
    std::int64_t depth;
    char* bounce;  // null where the array is used itself
    const File* file;

    // The array's, or that of a slot of as many as may be under way.
    char* memory(std::int64_t at, std::int64_t slot) const {
        return file->again ? file->memory(bytes, slot * block, depth * block) : bytes + at;
    }

    std::int64_t length(std::int64_t at) const { return std::min(block, all - at); }
    std::int64_t asked(std::int64_t at) const {
        return bounce != nullptr ? (length(at) + kAlign - 1) / kAlign * kAlign : length(at);
    }
};

void start(Ring& ring, const Job& job, std::int64_t at, std::int64_t slot) {
    char* memory = job.memory(at, slot);
    if (job.bounce != nullptr) {
        memory = job.bounce + slot * job.block;
        if (job.writes) {
            const auto length = static_cast<std::size_t>(job.length(at));
            std::memcpy(memory, job.memory(at, slot), length);
            std::memset(memory + length, 0, static_cast<std::size_t>(job.asked(at)) - length);
        }
    }
    ring.queue(job.writes, job.fd, memory, job.asked(at), at, static_cast<std::uint64_t>(slot));
}

// What is done was read or written whole; else the rest of the block is done by an ordinary call.
bool finish(const Job& job, std::int64_t at, std::int64_t slot, std::int64_t done) {
    if (done < 0) {
        errno = static_cast<int>(-done);
        return false;
    }
    const std::int64_t want = job.writes ? job.asked(at) : job.length(at);
    char* memory = job.bounce != nullptr ? job.bounce + slot * job.block : job.memory(at, slot);
    if (done < want) {
        const bool good = job.writes ? write_all(job.fd, memory + done, want - done, at + done)
                                     : read_all(job.fd, memory + done, want - done, at + done);
        if (!good) {
            return false;
        }
    }
    if (job.bounce != nullptr && !job.writes) {
        std::memcpy(job.memory(at, slot), memory, static_cast<std::size_t>(job.length(at)));
    }
    return true;
}

bool transfer(const Job& job) {
    Ring& ring = ring_of(job.depth);
    if (ring.why() != 0) {
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
    io_uring_cqe* done = nullptr;
    while (under_way > 0 && (done = ring.wait()) != nullptr) {
        for (; done != nullptr; done = ring.next(done)) {
            const auto slot = static_cast<std::int64_t>(io_uring_cqe_get_data64(done));
            std::int64_t& at = place[static_cast<std::size_t>(slot)];
            --under_way;
            if (!finish(job, at, slot, done->res)) {
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

bool by_ring(const File& file, const Array& array, bool writes, bool direct) {
    const int access = writes ? O_WRONLY : O_RDONLY;
    const int fd = open_again(file, direct ? access | O_DIRECT : access);
    if (fd < 0) {
        return false;
    }
    Job job{writes,  fd,   reinterpret_cast<char*>(array.data), array.count * kElementBytes, file.block, file.depth,
            nullptr, &file};
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
    if (good && writes && job.all % kAlign != 0) {
        good = ftruncate(file.fd, job.all) == 0;
    }
    const int wrong = errno;
    close(fd);
    errno = wrong;
    return good;
}

bool put_cached(const File& f, const Array& a) { return by_ring(f, a, true, false); }
bool get_cached(const File& f, const Array& a) { return by_ring(f, a, false, false); }
bool put_direct(const File& f, const Array& a) { return by_ring(f, a, true, true); }
bool get_direct(const File& f, const Array& a) { return by_ring(f, a, false, true); }

}  // namespace

const Variant kUringWhole{"uring-whole", Format::kBytes, 1, put_cached, get_cached};
const Variant kUringDirectWhole{"uring-direct-whole", Format::kBytes, 1, put_direct, get_direct};

}  // namespace fileio

#endif
