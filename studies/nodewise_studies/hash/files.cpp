// SPDX-License-Identifier: BSD-3-Clause
// Digests of files: small ones are read into one piece of memory after another and hashed together, large ones mapped.
#include "files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "engine.h"

namespace hash {
namespace {

// Files as long as this are mapped, so that their contents are not copied.
constexpr std::size_t kMapped = std::size_t{1} << 22;
// What is read before it is hashed: many files, that a core's cache nearly holds.
constexpr std::size_t kBatchBytes = std::size_t{1} << 23;
constexpr std::size_t kBatchFiles = 1024;

struct Mapping {
    void* data;
    std::size_t size;
};

// What is hashed in about the time in which a thread starts and is waited for.
constexpr off_t kThreadBytes = off_t{1} << 22;

// Not more threads than there is work for, from the sizes of the first files.
int useful_threads(const std::vector<const char*>& paths, int threads) {
    constexpr std::size_t kAsked = 32;
    const std::size_t asked = std::min(kAsked, paths.size());
    double bytes = 0;
    for (std::size_t i = 0; i < asked; ++i) {
        struct stat about{};
        if (stat(paths[i], &about) == 0) {
            // what is no file (a pipe, one in /proc) has no size that is known
            bytes += static_cast<double>(S_ISREG(about.st_mode) && about.st_size > 0 ? about.st_size : kThreadBytes);
        }
    }
    const double all = asked == 0 ? 0 : bytes / static_cast<double>(asked) * static_cast<double>(paths.size());
    return static_cast<int>(std::min(1 + all / static_cast<double>(kThreadBytes), static_cast<double>(threads)));
}

class Batch {
  public:
    Batch(const Plan& plan, std::uint8_t* digests)
        : plan_(plan), digests_(digests), digest_(shape(plan.function).digest) {}
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    ~Batch() { unmap(); }

    // Reads a file, its digest being the one of that number; 0, or the system's error.
    int add(const char* path, std::size_t number) {
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) {
            return errno;
        }
        struct stat about{};
        int error = fstat(file, &about) != 0 ? errno : S_ISDIR(about.st_mode) ? EISDIR : 0;
        if (error == 0) {
            const auto size = static_cast<std::size_t>(about.st_size);
            error = S_ISREG(about.st_mode) && size >= kMapped ? map(file, size, number) : read_all(file, size, number);
        }
        close(file);
        if (jobs_.size() == kBatchFiles || used_ >= kBatchBytes || mapped_bytes_ > kMostMapped) {
            flush();
        }
        return error;
    }

    void flush() {
        hash_jobs(plan_, jobs_.data(), jobs_.size());
        jobs_.clear();
        used_ = 0;
        unmap();
    }

  private:
    // A file that is cut short while it is mapped ends the program: not too many at once. What is longer than this is
    // not asked for at once, either.
    static constexpr std::size_t kMostMapped = std::size_t{1} << 28;

    void job(const std::uint8_t* data, std::size_t size, std::size_t number) {
        jobs_.push_back({data, size, digests_ + number * digest_});
    }

    int map(int file, std::size_t size, std::size_t number) {
        const int now = size <= kMostMapped ? MAP_POPULATE : 0;
        void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | now, file, 0);
        if (data == MAP_FAILED) {
            return read_all(file, size, number);
        }
        mapped_.push_back({data, size});
        mapped_bytes_ += size;
        job(static_cast<const std::uint8_t*>(data), size, number);
        return 0;
    }

    // Until the end, wherever that is: a file may grow, and some in /proc say that they are empty.
    int read_all(int file, std::size_t expected, std::size_t number) {
        if (used_ + expected >= memory_size_) {
            flush();
        }
        std::size_t size = 0;
        while (true) {
            if (used_ + std::max(size, expected) + 1 > memory_size_) {
                grow(size, used_ + std::max(2 * size, expected) + kBatchBytes);
            }
            const ssize_t got = read(file, memory_.get() + used_ + size, memory_size_ - used_ - size);
            if (got < 0 && errno == EINTR) {
                continue;
            }
            if (got < 0) {
                return errno;
            }
            if (got == 0) {
                break;
            }
            size += static_cast<std::size_t>(got);
        }
        job(memory_.get() + used_, size, number);
        used_ += (size + kLongestBlock - 1) / kLongestBlock * kLongestBlock;
        return 0;
    }

    // More memory, with what was read of the present file at its beginning.
    void grow(std::size_t kept, std::size_t size) {
        std::unique_ptr<std::uint8_t[]> larger(new std::uint8_t[size]);
        if (kept > 0) {
            std::memcpy(larger.get(), memory_.get() + used_, kept);
        }
        flush();
        memory_ = std::move(larger);
        memory_size_ = size;
    }

    void unmap() {
        for (const Mapping& mapping : mapped_) {
            munmap(mapping.data, mapping.size);
        }
        mapped_.clear();
        mapped_bytes_ = 0;
    }

    const Plan& plan_;
    std::uint8_t* digests_;
    std::size_t digest_;
    std::vector<Job> jobs_;
    std::unique_ptr<std::uint8_t[]> memory_;
    std::size_t memory_size_ = 0;
    std::size_t used_ = 0;
    std::vector<Mapping> mapped_;
    std::size_t mapped_bytes_ = 0;
};

}  // namespace
}  // namespace hash

int nodewise_hash_files(const char* function, const char* paths, size_t count, uint8_t* digests, int32_t* errors,
                        int threads) {
    using namespace hash;
    std::size_t f = 0;
    while (f < kFunctions && std::strcmp(shape(static_cast<Function>(f)).name, function) != 0) {
        ++f;
    }
    if (f == kFunctions) {
        return 1;
    }
    const Plan plan = make_plan(static_cast<Function>(f), all_engines(static_cast<Function>(f)));
    std::vector<const char*> each;
    for (std::size_t i = 0; i < count; ++i, paths += std::strlen(paths) + 1) {
        each.push_back(paths);
    }
    threads = useful_threads(each, threads);
    // pieces of neighbouring files: a thread that has long ones takes fewer
    constexpr std::size_t kMostPiece = 256;
    constexpr std::size_t kPiecesEach = 8;
    const std::size_t piece =
        std::clamp<std::size_t>(count / (kPiecesEach * static_cast<std::size_t>(threads)), 1, kMostPiece);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        Batch batch(plan, digests);
#pragma omp for schedule(dynamic, 1) nowait
        for (std::size_t begin = 0; begin < count; begin += piece) {
            for (std::size_t i = begin; i < std::min(count, begin + piece); ++i) {
                errors[i] = batch.add(each[i], i);
            }
        }
        batch.flush();
    }
    return 0;
}
