// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into a program that makes its threads itself: binds thread i to place i as it is created.
//
// NODEWISE_PIN          the places, such as {0},{1},{2-3}; counting starts over after the last
// NODEWISE_PIN_SKIP     threads that are not counted: numbers of creations from 1 (1,3), or a mask whose lowest bit is
// the
//                       first creation (0x5)
// NODEWISE_PIN_MAIN     "start": the main thread takes place 0 before main, not when the first thread is created
// NODEWISE_PIN_VERBOSE  1: a line on standard error for each thread
//
// A program's own wish wins: a thread whose attributes name processors is counted and left alone. Threads of an OpenMP
// runtime that binds them itself, and helpers of MPI, UCX and CUDA, are neither counted nor bound. A forked child may
// use all places again and counts anew; one that vfork or posix_spawn makes keeps its parent's mask until it starts a
// dynamic program, which this library is then in. Threads made by clone() itself are not seen. GNU's OpenMP runtime,
// where a library brings it later, is told of all places, not of the main thread's; Intel's and LLVM's ask the kernel,
// and see one place.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kMostProcessors = 8192;  // as many as Linux can be built for
constexpr std::size_t kMaskBytes = kMostProcessors / 8;
constexpr long kMostPlaces = 1 << 16;

struct Place {
    unsigned char mask[kMaskBytes];
    std::size_t bytes;  // how much of the mask is used
    const char* text;   // where it stands in the variable
    int length;
};

Place* places = nullptr;
long count = 0;
Place everything{};
bool verbose = false;
const char* skipped = nullptr;
std::atomic<long> created{0};
std::atomic<long> bound{0};
std::atomic<bool> main_bound{false};

void complain(const char* text) { std::fprintf(stderr, "nodewise-pin: %s: threads are left unbound\n", text); }

int bind_thread(pid_t thread, const Place& place) {
    return static_cast<int>(syscall(SYS_sched_setaffinity, thread, place.bytes, &place.mask[0]));
}

void tell(long number, pid_t thread, const Place* place, const char* why) {
    if (!verbose) {
        return;
    }
    if (place != nullptr) {
        std::fprintf(stderr, "nodewise-pin: thread %ld (%d) on %.*s%s\n", number, thread, place->length, place->text,
                     why);
    } else {
        std::fprintf(stderr, "nodewise-pin: thread %ld (%d) left alone: %s\n", number, thread, why);
    }
}

void add(Place& place, long processor) {
    const auto byte = static_cast<std::size_t>(processor) / 8;
    if (byte >= kMaskBytes) {
        return;
    }
    place.mask[byte] = static_cast<unsigned char>(place.mask[byte] | 1U << (processor % 8));
    // the kernel takes whole words
    const std::size_t needed = (byte / sizeof(long) + 1) * sizeof(long);
    place.bytes = needed > place.bytes ? needed : place.bytes;
}

// Reads a number or a range at `text` into the place; null where there is none.
const char* read_range(const char* text, Place& place) {
    char* end = nullptr;
    if (*text < '0' || *text > '9') {
        return nullptr;
    }
    const long first = std::strtol(text, &end, 10);
    long last = first;
    if (*end == '-') {
        const char* second = end + 1;
        if (*second < '0' || *second > '9') {
            return nullptr;
        }
        last = std::strtol(second, &end, 10);
    }
    if (first < 0 || last < first || last >= kMostProcessors) {
        return nullptr;
    }
    for (long p = first; p <= last; ++p) {
        add(place, p);
        add(everything, p);
    }
    return end;
}

// Reads one entry, in braces or a number by itself; null where there is none.
const char* read_entry(const char* text, Place& place) {
    const char* at = text;
    if (*at == '{') {
        do {
            at = read_range(at + 1, place);
        } while (at != nullptr && *at == ',');
        at = at != nullptr && *at == '}' ? at + 1 : nullptr;
    } else {
        at = read_range(at, place);
    }
    place.text = text;
    place.length = at == nullptr ? 0 : static_cast<int>(at - text);
    return at;
}

bool read_places(const char* text) {
    long most = 1;
    for (const char* at = text; *at != '\0'; ++at) {
        most += *at == ',' ? 1 : 0;
    }
    if (most > kMostPlaces) {
        return false;
    }
    places = static_cast<Place*>(std::calloc(static_cast<std::size_t>(most), sizeof(Place)));
    if (places == nullptr) {
        return false;
    }
    for (const char* at = text; count < most; ++at) {
        at = read_entry(at, places[count]);
        if (at == nullptr || (*at != ',' && *at != '\0')) {
            return false;
        }
        ++count;
        if (*at == '\0') {
            return true;
        }
    }
    return false;
}

bool is_skipped(long creation) {
    if (skipped == nullptr) {
        return false;
    }
    if (skipped[0] == '0' && (skipped[1] == 'x' || skipped[1] == 'X')) {
        return creation <= 64 && (std::strtoull(skipped, nullptr, 16) >> (creation - 1) & 1U) != 0;
    }
    for (const char* at = skipped; *at != '\0';) {
        char* end = nullptr;
        if (std::strtol(at, &end, 10) == creation && end != at) {
            return true;
        }
        at = *end == '\0' ? end : end + 1;
    }
    return false;
}

bool starts_with_any(const char* name, const char* const* list) {
    for (; *list != nullptr; ++list) {
        if (std::strncmp(name, *list, std::strlen(*list)) == 0) {
            return true;
        }
    }
    return false;
}

bool is_openmp(const void* code) {
    static const char* const kRuntimes[] = {"libgomp", "libomp", "libiomp5", nullptr};
    Dl_info where{};
    if (dladdr(code, &where) == 0 || where.dli_fname == nullptr) {
        return false;
    }
    const char* slash = std::strrchr(where.dli_fname, '/');
    return starts_with_any(slash == nullptr ? where.dli_fname : slash + 1, kRuntimes);
}

// Why a thread that begins at this function is neither counted nor bound; null where it is.
const char* why_left_alone(void* start) {
    static const char* const kHelpers[] = {"libmpi", "libopen-pal", "libopen-rte", "libpmix", "libprrte",
                                           "libucs", "libuct",      "libfabric",   "libpsm",  "libcuda",
                                           "libhsa", "libnccl",     nullptr};
    Dl_info where{};
    if (dladdr(start, &where) == 0 || where.dli_fname == nullptr) {
        return nullptr;
    }
    const char* slash = std::strrchr(where.dli_fname, '/');
    const char* name = slash == nullptr ? where.dli_fname : slash + 1;
    if (starts_with_any(name, kHelpers)) {
        return "a helper of its library";
    }
    if (!is_openmp(start)) {
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
    if (main_bound.exchange(true)) {
        return;
    }
    const int failed = bind_thread(getpid(), places[0]);
    tell(0, getpid(), &places[0], failed != 0 ? ", which the system refuses" : "");
}

void in_child() {
    if (main_bound.exchange(false)) {
        bind_thread(0, everything);
    }
    created = 0;
    bound = 0;
}

__attribute__((constructor)) void begin() {
    const char* text = std::getenv("NODEWISE_PIN");  // NOLINT(concurrency-mt-unsafe): before main
    if (text == nullptr || *text == '\0') {
        return;
    }
    const char* said = std::getenv("NODEWISE_PIN_VERBOSE");  // NOLINT(concurrency-mt-unsafe)
    verbose = said != nullptr && *said == '1';
    skipped = std::getenv("NODEWISE_PIN_SKIP");  // NOLINT(concurrency-mt-unsafe)
    if (!read_places(text)) {
        count = 0;
        complain("NODEWISE_PIN is no list of places such as {0},{1},{2-3}");
        return;
    }
    pthread_atfork(nullptr, nullptr, in_child);
    said = std::getenv("NODEWISE_PIN_MAIN");  // NOLINT(concurrency-mt-unsafe)
    if (said != nullptr && std::strcmp(said, "start") == 0) {
        bind_main();
    }
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
    if (bind_thread(0, *start.place) != 0) {
        std::fprintf(stderr, "nodewise-pin: thread %ld: the system refuses %.*s: it is left unbound\n", start.number,
                     start.place->length, start.place->text);
    } else {
        tell(start.number, static_cast<pid_t>(syscall(SYS_gettid)), start.place, "");
    }
    return start.run(start.argument);
}

// Whether a thread's attributes name processors: without any, all bits are set.
bool has_own_affinity(const pthread_attr_t* attributes) {
    if (attributes == nullptr) {
        return false;
    }
    cpu_set_t set;
    const int failed = pthread_attr_getaffinity_np(attributes, sizeof set, &set);
    return failed != 0 || CPU_COUNT(&set) != CPU_SETSIZE;
}

// The start to hand to the real function, or null where the thread is to be left as it is.
template <typename Result>
Start<Result>* wrapped(Result (*run)(void*), void* argument, bool own_affinity) {
    if (count == 0) {
        return nullptr;
    }
    const long creation = ++created;
    if (is_skipped(creation)) {
        tell(creation, 0, nullptr, "it is among NODEWISE_PIN_SKIP");
        return nullptr;
    }
    if (const char* why = why_left_alone(reinterpret_cast<void*>(run)); why != nullptr) {
        tell(creation, 0, nullptr, why);
        return nullptr;
    }
    bind_main();
    const long number = ++bound;
    if (own_affinity) {
        tell(number, 0, nullptr, "its attributes name processors");
        return nullptr;
    }
    auto* start = static_cast<Start<Result>*>(std::malloc(sizeof(Start<Result>)));
    if (start != nullptr) {
        *start = {run, argument, number, &places[number % count]};
    }
    return start;
}

template <typename Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                          void* (*run)(void*), void* argument) noexcept {
    static const auto kReal =
        next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
    Start<void*>* start = wrapped<void*>(run, argument, has_own_affinity(attributes));
    if (start == nullptr) {
        return kReal(thread, attributes, run, argument);
    }
    const int failed = kReal(thread, attributes, enter<void*>, start);
    if (failed != 0) {
        std::free(start);
    }
    return failed;
}

// An OpenMP runtime that is loaded after the main thread was bound would take its one place for all that there is.
__attribute__((visibility("default"))) int pthread_getaffinity_np(pthread_t thread, std::size_t bytes,
                                                                  cpu_set_t* set) noexcept {
    static const auto kReal = next<int (*)(pthread_t, std::size_t, cpu_set_t*)>("pthread_getaffinity_np");
    if (main_bound && bytes >= everything.bytes && is_openmp(__builtin_return_address(0))) {
        std::memset(set, 0, bytes);
        std::memcpy(set, &everything.mask[0], everything.bytes);
        return 0;
    }
    return kReal(thread, bytes, set);
}

__attribute__((visibility("default"))) int thrd_create(thrd_t* thread, thrd_start_t run, void* argument) {
    static const auto kReal = next<int (*)(thrd_t*, thrd_start_t, void*)>("thrd_create");
    Start<int>* start = wrapped<int>(run, argument, false);
    if (start == nullptr) {
        return kReal(thread, run, argument);
    }
    const int status = kReal(thread, enter<int>, start);
    if (status != thrd_success) {
        std::free(start);
    }
    return status;
}
}
