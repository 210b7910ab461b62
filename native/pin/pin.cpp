// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into a program that makes its threads itself: binds thread i to place i as it is created.
//
// NODEWISE_PIN          the places, such as {0},{1},{2-3}; counting starts over after the last
// NODEWISE_PIN_SKIP     threads that are not counted: numbers of creations from 1 (1,3), or a mask whose lowest bit is
//                       the first creation (0x5)
// NODEWISE_PIN_MAIN     "start": the main thread takes place 0 before main, not when the first thread is created
// NODEWISE_PIN_VERBOSE  1: a line on standard error for each thread
//
// A program's own wish wins: a thread whose attributes name processors is counted and left alone, and so is a main
// thread that bound itself before it made a thread. Threads of an OpenMP runtime that binds them itself, and helpers of
// MPI, UCX and CUDA, are neither counted nor bound. A forked child may use all places again and counts anew; one that
// vfork or posix_spawn makes keeps its parent's mask until it starts a dynamic program, which this library is then in.
// Threads made by clone() itself are not seen. GNU's OpenMP runtime, where a library brings it later, is told of all
// places, not of the main thread's; Intel's and LLVM's ask the kernel, and see one place.
//
// What is called on a thread's creation takes no lock and asks the loader nothing: a thread may be made while the
// loader's lock is held, by a constructor that waits for it. Nor is any of it a point of cancellation, or in need of
// much stack.
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "pin/owner.h"
#include "pin/places.h"

namespace {

using nodewise::kMaskBytes;
using nodewise::Owner;
using nodewise::owner_of;
using nodewise::Place;

Place* places = nullptr;
long count = 0;
Place everything{};
Place at_first{};  // what the main thread may use before this library changes it
bool verbose = false;
const char* skipped = nullptr;
std::atomic<long> created{0};
std::atomic<long> bound{0};
std::atomic<bool> main_seen{false};
std::atomic<bool> main_bound{false};
// Where this thread was bound; null for the main thread, and for those left alone.
thread_local const Place* own_place = nullptr;

enum class State : unsigned char { kNew, kBeginning, kReady };
std::atomic<State> state{State::kNew};

std::atomic<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> real_pthread_create{nullptr};
std::atomic<int (*)(pthread_t, std::size_t, cpu_set_t*)> real_pthread_getaffinity{nullptr};
std::atomic<int (*)(thrd_t*, thrd_start_t, void*)> real_thrd_create{nullptr};
// Looked up since musl has no such function: a program that is bound may start others that are linked against musl,
// which end at once where a preloaded library names what is not there.
std::atomic<int (*)(const pthread_attr_t*, std::size_t, cpu_set_t*)> attribute_affinity{nullptr};

// The program sees errno as if this library were not there.
class KeepErrno {
  public:
    KeepErrno() = default;
    ~KeepErrno() { errno = kept_; }
    KeepErrno(const KeepErrno&) = delete;
    KeepErrno& operator=(const KeepErrno&) = delete;

  private:
    int kept_ = errno;
};

// A line for standard error in one piece; not stdio, which locks, is a point of cancellation and takes 8 KiB of stack.
class Line {
  public:
    Line() { add("nodewise-pin: ", 14); }
    Line& operator<<(const char* text) { return add(text, std::strlen(text)); }
    Line& operator<<(const Place& place) { return add(place.text, static_cast<std::size_t>(place.length)); }
    Line& operator<<(long number) {
        char* at = &digits_[used_ += kDigits];
        const char* end = at;
        do {
            *--at = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number > 0);
        return add(at, static_cast<std::size_t>(end - at));
    }
    // A reader that is gone or that reads nothing is no reason to end the program or to hold it up.
    void write() {
        add("\n", 1);
        pollfd where{STDERR_FILENO, POLLOUT, 0};
        const timespec patience{1, 0};
        if (syscall(SYS_ppoll, &where, 1, &patience, nullptr, 0) == 1 && (where.revents & (POLLERR | POLLNVAL)) == 0) {
            syscall(SYS_writev, STDERR_FILENO, &parts_[0], count_);
        }
    }

  private:
    static constexpr std::size_t kDigits = 20;
    static constexpr int kMostParts = 10;

    Line& add(const char* text, std::size_t length) {
        if (count_ < kMostParts) {
            // writev does not write to what it is given
            parts_[count_++] = {const_cast<char*>(text), length};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
        }
        return *this;
    }

    iovec parts_[kMostParts];
    int count_ = 0;
    char digits_[2 * kDigits + 1];
    std::size_t used_ = 0;
};

int bind_thread(pid_t thread, const Place& place) {
    return static_cast<int>(syscall(SYS_sched_setaffinity, thread, place.bytes, &place.mask[0]));
}

// What a thread may use now; no bits where that is not known.
void read_mask(pid_t thread, unsigned char (&mask)[kMaskBytes]) {
    std::memset(&mask[0], 0, kMaskBytes);
    syscall(SYS_sched_getaffinity, thread, kMaskBytes, &mask[0]);
}

bool is_on(pid_t thread, const Place& place) {
    unsigned char mask[kMaskBytes];
    read_mask(thread, mask);
    return std::memcmp(&mask[0], &place.mask[0], kMaskBytes) == 0;
}

void report(long number, pid_t thread, const Place* place, const char* why) {
    if (!verbose) {
        return;
    }
    Line line;
    line << "thread " << number << " (" << static_cast<long>(thread) << ")";
    if (place != nullptr) {
        line << " on " << *place << why;
    } else {
        line << " left alone: " << why;
    }
    line.write();
}

// Why a thread that begins at this function is neither counted nor bound; null where it is.
const char* why_left_alone(const void* start) {
    const Owner owner = owner_of(start);
    if (owner == Owner::kHelper) {
        return "a helper of its library";
    }
    if (owner != Owner::kOpenmp) {
        return nullptr;
    }
    for (const char* variable : {"OMP_PROC_BIND", "OMP_PLACES", "KMP_AFFINITY", "GOMP_CPU_AFFINITY"}) {
        if (std::getenv(variable) != nullptr) {  // NOLINT(concurrency-mt-unsafe): read only, as the runtime does
            return "OpenMP's runtime binds it";
        }
    }
    return nullptr;
}

void bind_main() {
    if (main_seen.exchange(true)) {
        return;
    }
    if (!is_on(getpid(), at_first)) {
        report(0, getpid(), nullptr, "it chose its processors itself");
        return;
    }
    main_bound = true;
    const int failed = bind_thread(getpid(), places[0]);
    report(0, getpid(), &places[0], failed != 0 ? ", which the system refuses" : "");
}

void in_child() {
    const KeepErrno kept;
    const bool was_bound = own_place != nullptr || main_bound;
    // unless the program moved it meanwhile
    if (was_bound && is_on(0, own_place != nullptr ? *own_place : places[0])) {
        bind_thread(0, everything);
    }
    own_place = nullptr;
    main_seen = false;
    main_bound = false;
    read_mask(0, at_first.mask);
    created = 0;
    bound = 0;
}

template <typename Function>
void find_next(std::atomic<Function>& real, const char* name) {
    if (real.load() == nullptr) {
        real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
    }
}

void find_all() {
    find_next(real_pthread_create, "pthread_create");
    find_next(real_pthread_getaffinity, "pthread_getaffinity_np");
    find_next(real_thrd_create, "thrd_create");
    find_next(attribute_affinity, "pthread_attr_getaffinity_np");
}

// pthread_atfork() is linked in statically, and calls a function that glibc alone has.
void call_in_children() {
    using Registers = int (*)(void (*)(), void (*)(), void (*)(), void*);
    using Plain = int (*)(void (*)(), void (*)(), void (*)());
    if (auto* registers = reinterpret_cast<Registers>(dlsym(RTLD_NEXT, "__register_atfork")); registers != nullptr) {
        registers(nullptr, nullptr, in_child, nullptr);
    } else if (auto* plain = reinterpret_cast<Plain>(dlsym(RTLD_NEXT, "pthread_atfork")); plain != nullptr) {
        plain(nullptr, nullptr, in_child);
    }
}

// The function after ours. It is missing only while begin() looks for it, should the program's allocator make threads
// at dlsym's first allocation, or where the program has none.
template <typename Function>
Function next(std::atomic<Function>& real, const char* name) {
    if (real.load() == nullptr) {
        find_next(real, name);
    }
    return real.load();
}

void read_settings() {
    const char* text = std::getenv("NODEWISE_PIN");  // NOLINT(concurrency-mt-unsafe): before main
    if (text == nullptr || *text == '\0') {
        return;
    }
    const char* said = std::getenv("NODEWISE_PIN_VERBOSE");  // NOLINT(concurrency-mt-unsafe)
    verbose = said != nullptr && *said == '1';
    skipped = std::getenv("NODEWISE_PIN_SKIP");  // NOLINT(concurrency-mt-unsafe)
    if (!nodewise::read_places(text, places, count, everything)) {
        count = 0;
        (Line() << "NODEWISE_PIN is no list of places such as {0},{1},{2-3}: threads are left unbound").write();
        return;
    }
    read_mask(0, at_first.mask);
    call_in_children();
    said = std::getenv("NODEWISE_PIN_MAIN");  // NOLINT(concurrency-mt-unsafe)
    if (said != nullptr && std::strcmp(said, "start") == 0) {
        bind_main();
    }
}

// Other libraries' constructors run before this one's, and may make threads: then it is the first of them that begins.
__attribute__((constructor)) void begin() {
    State expected = State::kNew;
    if (state != State::kNew || !state.compare_exchange_strong(expected, State::kBeginning)) {
        return;
    }
    const KeepErrno kept;
    find_all();
    read_settings();
    state = State::kReady;
}

// What a new thread needs to bind itself before it runs a line of the program's.
template <typename Result>
struct Start {
    Result (*run)(void*);
    void* argument;
    long number;
    const Place* place;
};

template <typename Result>
Result enter(void* given) {
    const Start<Result> start = *static_cast<Start<Result>*>(given);
    std::free(given);
    {
        const KeepErrno kept;
        if (bind_thread(0, *start.place) == 0) {
            own_place = start.place;
            report(start.number, static_cast<pid_t>(syscall(SYS_gettid)), start.place, "");
        } else {
            (Line() << "thread " << start.number << ": the system refuses " << *start.place << ": it is left unbound")
                .write();
        }
    }
    return start.run(start.argument);
}

// Whether a thread's attributes name processors: without any, all bits are set.
bool has_own_affinity(const pthread_attr_t* attributes) {
    const auto read = attribute_affinity.load();
    if (attributes == nullptr || read == nullptr) {
        return false;
    }
    cpu_set_t set;
    const int failed = read(attributes, sizeof set, &set);
    return failed != 0 || CPU_COUNT(&set) != CPU_SETSIZE;
}

// The start to hand to the real function, or null where the thread is to be left as it is.
template <typename Result>
Start<Result>* wrapped(Result (*run)(void*), void* argument, const pthread_attr_t* attributes) {
    begin();
    if (state != State::kReady || count == 0) {
        return nullptr;
    }
    const KeepErrno kept;
    const long creation = ++created;
    if (skipped != nullptr && nodewise::is_among(skipped, creation)) {
        report(creation, 0, nullptr, "it is among NODEWISE_PIN_SKIP");
        return nullptr;
    }
    if (const char* why = why_left_alone(reinterpret_cast<const void*>(run)); why != nullptr) {
        report(creation, 0, nullptr, why);
        return nullptr;
    }
    bind_main();
    const long number = ++bound;
    if (has_own_affinity(attributes)) {
        report(number, 0, nullptr, "its attributes name processors");
        return nullptr;
    }
    auto* start = static_cast<Start<Result>*>(std::malloc(sizeof(Start<Result>)));
    if (start != nullptr) {
        *start = {run, argument, number, &places[number % count]};
    }
    return start;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                          void* (*run)(void*), void* argument) noexcept {
    Start<void*>* start = wrapped<void*>(run, argument, attributes);
    const auto real = next(real_pthread_create, "pthread_create");
    const int failed = real == nullptr    ? EAGAIN
                       : start == nullptr ? real(thread, attributes, run, argument)
                                          : real(thread, attributes, enter<void*>, start);
    if (failed != 0) {
        std::free(start);
    }
    return failed;
}

// An OpenMP runtime that is loaded after the main thread was bound would take its one place for all that there is.
__attribute__((visibility("default"))) int pthread_getaffinity_np(pthread_t thread, std::size_t bytes,
                                                                  cpu_set_t* set) noexcept {
    if (main_bound && bytes >= everything.bytes) {
        const KeepErrno kept;
        if (owner_of(__builtin_return_address(0)) == Owner::kOpenmp) {
            std::memset(set, 0, bytes);
            std::memcpy(set, &everything.mask[0], everything.bytes);
            return 0;
        }
    }
    const auto real = next(real_pthread_getaffinity, "pthread_getaffinity_np");
    return real == nullptr ? ENOSYS : real(thread, bytes, set);
}

__attribute__((visibility("default"))) int thrd_create(thrd_t* thread, thrd_start_t run, void* argument) {
    Start<int>* start = wrapped<int>(run, argument, nullptr);
    const auto real = next(real_thrd_create, "thrd_create");
    const int status = real == nullptr    ? static_cast<int>(thrd_error)
                       : start == nullptr ? real(thread, run, argument)
                                          : real(thread, enter<int>, start);
    if (status != thrd_success) {
        std::free(start);
    }
    return status;
}
}
