// SPDX-License-Identifier: BSD-3-Clause
// isa-l_crypto's multi-buffer hashes: each thread has a manager, gives it one buffer after the other, and is handed
// back those that are done, in whatever order. Both of its interfaces: names that begin with isal_ since version 2.25,
// and those without, which have no status.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "study.h"

namespace hash {
namespace {

enum Flag : int { kUpdate = 0, kFirst = 1, kLast = 2 };
constexpr int kComplete = 4;

using Init = int (*)(void* manager);
using Submit = int (*)(void* manager, void* context, void** done, const void* data, std::uint32_t size, int flags);
using Flush = int (*)(void* manager, void** done);
using OldInit = void (*)(void* manager);
using OldSubmit = void* (*)(void* manager, void* context, const void* data, std::uint32_t size, int flags);
using OldFlush = void* (*)(void* manager);

// A context begins with a job: the digest, in words of the processor's order, is aligned to 64 bytes after a pointer
// and a length, then come a status and a pointer. After the job, itself aligned, are the context's status and error.
// What follows has changed between versions and is left alone; managers and contexts have room for more than any has
// used.
constexpr std::size_t kDigestAt = 64;
constexpr std::size_t kContextBytes = 1024;
constexpr std::size_t kManagerBytes = 16384;
// More than the lanes that a manager has, which are 32 at most.
constexpr std::size_t kContexts = 64;
constexpr std::size_t kThreadBytes = kManagerBytes + kContexts * kContextBytes;
// Longer buffers are given in pieces of so many bytes, since a length has 32 bits.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 26;

template <class Called>
Called find(nw_run* run, const char* prefix, const char* what) {
    const std::string name = std::string(prefix) + shape(state(run).function).name + what;
    return reinterpret_cast<Called>(dlsym(run->library, name.c_str()));  // POSIX lets it travel as a void*
}

// The functions for one hash, whichever interface the library has.
class Library {
  public:
    explicit Library(nw_run* run)
        : init_(find<Init>(run, "isal_", "_ctx_mgr_init")),
          submit_(find<Submit>(run, "isal_", "_ctx_mgr_submit")),
          flush_(find<Flush>(run, "isal_", "_ctx_mgr_flush")),
          old_init_(find<OldInit>(run, "", "_ctx_mgr_init")),
          old_submit_(find<OldSubmit>(run, "", "_ctx_mgr_submit")),
          old_flush_(find<OldFlush>(run, "", "_ctx_mgr_flush")) {}

    bool whole() const {
        return has_new() || (old_init_ != nullptr && old_submit_ != nullptr && old_flush_ != nullptr);
    }

    // Each is 0, or the library's error; `done` is a context that is finished, or null.
    int init(void* manager) const {
        if (has_new()) {
            return init_(manager);
        }
        old_init_(manager);
        return 0;
    }
    int submit(void* manager, void* context, void** done, const void* data, std::uint32_t size, int flags) const {
        if (has_new()) {
            return submit_(manager, context, done, data, size, flags);
        }
        *done = old_submit_(manager, context, data, size, flags);
        return 0;
    }
    int flush(void* manager, void** done) const {
        if (has_new()) {
            return flush_(manager, done);
        }
        *done = old_flush_(manager);
        return 0;
    }

  private:
    bool has_new() const { return init_ != nullptr && submit_ != nullptr && flush_ != nullptr; }

    Init init_;
    Submit submit_;
    Flush flush_;
    OldInit old_init_;
    OldSubmit old_submit_;
    OldFlush old_flush_;
};

// One thread's buffers.
class Manager {
  public:
    Manager(const Library& library, Function function, std::uint8_t* memory)
        : library_(library), shape_(shape(function)), memory_(memory), status_at_(after_job(shape_)) {}

    // 0, or an error of the library's; -1 where it hands back less than it was given.
    int hash(const std::vector<Job>& jobs) {
        if (const int wrong = library_.init(memory_); wrong != 0) {
            return wrong;
        }
        for (std::size_t i = 0; i < kContexts; ++i) {
            free_[i] = i;
        }
        free_count_ = kContexts;
        for (const Job& job : jobs) {
            if (const int wrong = start(job); wrong != 0) {
                return wrong;
            }
        }
        while (free_count_ < kContexts) {
            if (const int wrong = wait(); wrong != 0) {
                return wrong;
            }
        }
        return 0;
    }

  private:
    struct Open {
        const Job* job;
        std::uint64_t given;
    };

    static std::size_t after_job(const Shape& shape) {
        const std::size_t used = kDigestAt + shape.words * shape.word + sizeof(int);
        const std::size_t with_pointer = (used + sizeof(void*) - 1) / sizeof(void*) * sizeof(void*) + sizeof(void*);
        return (with_pointer + kDigestAt - 1) / kDigestAt * kDigestAt;
    }

    std::uint8_t* context(std::size_t i) const { return memory_ + kManagerBytes + i * kContextBytes; }

    int start(const Job& job) {
        while (free_count_ == 0) {
            if (const int wrong = wait(); wrong != 0) {
                return wrong;
            }
        }
        const std::size_t i = free_[--free_count_];
        open_[i] = {&job, 0};
        const int states[] = {kComplete, 0};  // as the library's own macro prepares a context
        std::memcpy(context(i) + status_at_, states, sizeof states);
        return submit(i);
    }

    // Gives the manager the next piece of a buffer, and of those that it hands back for more.
    int submit(std::size_t i) {
        void* done = nullptr;
        do {
            Open& open = open_[i];
            const std::uint64_t size = std::min(kPiece, open.job->size - open.given);
            const int first = open.given == 0 ? kFirst : kUpdate;
            const std::uint8_t* data = open.job->data + open.given;
            open.given += size;
            const int last = open.given == open.job->size ? kLast : kUpdate;
            done = nullptr;
            error_ = library_.submit(memory_, context(i), &done, data, static_cast<std::uint32_t>(size), first | last);
        } while (error_ == 0 && done != nullptr && more(done, i));
        return error_;
    }

    // Has the manager work on what it has until a buffer is done.
    int wait() {
        void* done = nullptr;
        error_ = library_.flush(memory_, &done);
        if (error_ == 0 && done == nullptr) {
            error_ = -1;
        }
        std::size_t i = 0;
        return error_ == 0 && more(done, i) ? submit(i) : error_;
    }

    // Whether there is more of the buffer that was handed back, whose number is set; else its digest is taken.
    bool more(const void* done, std::size_t& i) {
        i = static_cast<std::size_t>(static_cast<const std::uint8_t*>(done) - context(0)) / kContextBytes;
        int states[2];
        std::memcpy(states, context(i) + status_at_, sizeof states);
        const Open& open = open_[i];
        if (states[1] != 0 || open.given < open.job->size) {
            error_ = states[1];
            return states[1] == 0;
        }
        if (states[0] != kComplete) {
            error_ = -1;
            return false;
        }
        for (std::size_t at = 0; at < shape_.digest; ++at) {
            const std::size_t in_word = at % shape_.word;
            const std::size_t right = shape_.big_endian ? shape_.word - 1 - in_word : in_word;
            open.job->digest[at] = context(i)[kDigestAt + at / shape_.word * shape_.word + right];
        }
        free_[free_count_++] = i;
        return false;
    }

    const Library& library_;
    const Shape& shape_;
    std::uint8_t* memory_;
    std::size_t status_at_;
    Open open_[kContexts];
    std::size_t free_[kContexts];
    std::size_t free_count_ = 0;
    int error_ = 0;
};

}  // namespace

int prepare_isal_crypto(nw_run* run) {
    if (!Library(run).whole()) {
        return nw_fail(run, "the library has no multi-buffer %s", shape(state(run).function).name);
    }
    share(run);
    const auto threads = static_cast<std::size_t>(run->threads);
    state(run).managers = static_cast<std::uint8_t*>(run->memory(run, threads * kThreadBytes, 0));
    return state(run).managers == nullptr ? 1 : 0;
}

int isal_crypto(nw_run* run) {
    const State& own = state(run);
    const Library library(run);
    std::atomic<int> failed{0};
#pragma omp parallel for schedule(static, 1) num_threads(run->threads)
    for (int t = 0; t < run->threads; ++t) {
        const auto thread = static_cast<std::size_t>(t);
        Manager manager(library, own.function, own.managers + thread * kThreadBytes);
        if (const int wrong = manager.hash(own.shares[thread]); wrong != 0) {
            failed = wrong;
        }
    }
    return failed == 0 ? 0 : nw_fail(run, "isa-l_crypto refuses %s, error %d", shape(own.function).name, failed.load());
}

}  // namespace hash
