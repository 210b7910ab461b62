// SPDX-License-Identifier: BSD-3-Clause
// What a study's native code and the worker say to each other. The only header of nodewise that a kernel includes;
// plain C, so that a file compiled for a newer instruction set leaves no shared C++ symbol behind.
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NW_ABI 4

// What a field is that a designated initialiser leaves out: in C zero, in C++ said so that no compiler warns.
#ifdef __cplusplus
#define NW_ELSE(value) = value
#else
#define NW_ELSE(value)
#endif

typedef enum { NW_U8 = 1, NW_I32, NW_I64, NW_F32, NW_F64 } nw_type;
typedef enum { NW_INPUT = 0, NW_OUTPUT = 1, NW_SCRATCH = 2 } nw_role;

// An array, allocated by the worker, 64-byte aligned (2 MiB where it is that large, for huge pages), touched first by
// the threads in equal neighbouring parts. Inputs are filled by the study, outputs are checked and dumped.
typedef struct {
    const char* name;
    nw_type type;
    nw_role role;
    uint64_t count;
    void* data;
} nw_buffer;

// A knob's value as given on the command line; `number` is 0 where the text is none.
typedef struct {
    const char* name;
    const char* text;
    double number;
} nw_knob;

// Something else that a run found out, such as an error in ulp: printed with each repetition. One called `seconds`
// takes the place of the clock's, for a run that is timed in parts.
typedef struct {
    const char* name;
    double value;
} nw_metric;

#define NW_MOST_BUFFERS 16
#define NW_MOST_METRICS 64

// What memory has to be: of huge pages where the system gives them; of the fastest NUMA node (by memkind), where
// there is one, else of any.
enum { NW_HUGE = 1, NW_FAST = 2 };

// In place of a rank.
enum { NW_NOBODY = -1 };

// One run: so many threads, these knobs, these arrays. `own` is the study's, from layout to release. Over ranks each
// rank has a run of its own, with its part of the arrays.
typedef struct nw_run {
    int threads;
    uint64_t seed;
    const nw_knob* knobs;
    size_t knob_count;
    nw_buffer buffers[NW_MOST_BUFFERS];
    size_t buffer_count;
    nw_metric metrics[NW_MOST_METRICS];
    size_t metric_count;
    void* own;
    void* library;    // the peer's library, opened; null for any other variant
    char error[512];  // what is wrong, for a function that returns not 0
    // Memory for a variant's own use, 64-byte aligned, not cleared; freed by the worker when the run ends. `how` is of
    // NW_HUGE and NW_FAST. Null, with `error` set, where there is none. Not for several threads at once.
    void* (*memory)(struct nw_run*, size_t bytes, unsigned how);
    // This is `rank` of `ranks`, 0 of 1 where the study does not run over ranks. Below is what all of them call
    // together, one thread of each; over one rank it does nothing. A rank that fails ends them all.
    int rank;
    int ranks;
    void (*sum)(struct nw_run*, double* values, size_t count);      // element by element, in place
    void (*largest)(struct nw_run*, double* values, size_t count);  // likewise
    void (*broadcast)(struct nw_run*, void* data, size_t bytes, int from);
    void (*barrier)(struct nw_run*);
    // Sends so many bytes to rank `to` and receives so many from rank `from`; NW_NOBODY for either leaves that part
    // out.
    void (*exchange)(struct nw_run*, const void* out, size_t out_bytes, int to, void* in, size_t in_bytes, int from);
} nw_run;

// How much work one repetition is. `items` is what the study's rate counts; the rest is 0 where it means nothing.
typedef struct {
    double items;
    double flops;
    double bytes_read;
    double bytes_written;
} nw_work;

// A variant is a way that the study shows; a peer what a user would take instead, from a library; a limit does only
// what no variant can do without, and its result is not checked.
typedef enum { NW_VARIANT = 0, NW_LIMIT = 1, NW_PEER = 2 } nw_kind;

// One way to do the work: {.name = "blocked", .run = blocked}, and what else it has. `needs` names processor features
// as the compiler does, separated by commas ("avx2,fma"); without, it runs everywhere; "simd" where Highway chooses the
// instructions when it runs, so that each choice is tested.
typedef struct nw_variant {
    const char* name;
    nw_kind kind NW_ELSE(NW_VARIANT);
    const char* needs NW_ELSE("");
    int (*run)(nw_run*);
    int (*prepare)(nw_run*) NW_ELSE(nullptr);  // once, after fill, untimed: scratch memory, a library's threads
    void (*work)(const nw_run*, nw_work*)
        NW_ELSE(nullptr);                  // the work that this variant does, where it differs from the study's
    const char* library NW_ELSE(nullptr);  // a peer's library: its name in study.py's `libraries`
} nw_variant;

// A study. Functions return 0, or not 0 with the reason in `error`. In order: layout declares the buffers of the knobs;
// fill writes the inputs from the seed, equal for any number of threads and ranks; reset, before each repetition, puts
// back what a run changes; a variant's run is what is timed; check judges the outputs by what they must be, not by how
// they were made. reset and release may be left out.
typedef struct nw_study {
    uint32_t abi;
    const char* name;
    int (*layout)(nw_run*);
    int (*fill)(nw_run*);
    int (*reset)(nw_run*) NW_ELSE(nullptr);
    int (*check)(nw_run*);
    void (*work)(const nw_run*, nw_work*);
    void (*release)(nw_run*) NW_ELSE(nullptr);  // frees `own`
    const nw_variant* variants;
    size_t variant_count;
} nw_study;

// The one symbol that a study's shared object exports.
const nw_study* nodewise_study(void);

// Says what is wrong, as printf does, and is 1: `return nw_fail(run, "n is %d", n);`. What to do about it, where the
// user can do something, goes on a line of its own: "n is %d\nhint: give n=2 or more".
__attribute__((format(printf, 2, 3))) static inline int nw_fail(nw_run* run, const char* format, ...) {
    va_list given;
    va_start(given, format);
    vsnprintf(run->error, sizeof run->error, format, given);
    va_end(given);
    return 1;
}

// A knob's text; null where it was not given. Knobs with a default in study.py are always given by nodewise.
static inline const char* nw_text(const nw_run* run, const char* knob) {
    for (size_t i = 0; i < run->knob_count; ++i) {
        if (strcmp(run->knobs[i].name, knob) == 0) {
            return run->knobs[i].text;
        }
    }
    return NULL;  // NOLINT(modernize-use-nullptr): C
}

// A knob's number, or `absent` where it was not given. study.py says what is allowed.
static inline double nw_number(const nw_run* run, const char* knob, double absent) {
    for (size_t i = 0; i < run->knob_count; ++i) {
        if (strcmp(run->knobs[i].name, knob) == 0) {
            return run->knobs[i].number;
        }
    }
    return absent;
}

// Declares a buffer, in layout.
static inline void nw_declare(nw_run* run, const char* name, nw_type type, nw_role role, uint64_t count) {
    nw_buffer declared = {name, type, role, count, NULL};  // NOLINT(modernize-use-nullptr): C
    run->buffers[run->buffer_count++] = declared;
}

// A buffer's memory, by its name; null where it was not declared.
static inline void* nw_data(const nw_run* run, const char* name) {
    for (size_t i = 0; i < run->buffer_count; ++i) {
        if (strcmp(run->buffers[i].name, name) == 0) {
            return run->buffers[i].data;
        }
    }
    return NULL;  // NOLINT(modernize-use-nullptr): C
}

// Reports a metric of this run, or corrects it. One named "seconds" takes the place of the worker's clock, for a run
// that has more to do than what is to be timed.
static inline void nw_report(nw_run* run, const char* name, double value) {
    size_t at = 0;
    while (at < run->metric_count && strcmp(run->metrics[at].name, name) != 0) {
        ++at;
    }
    if (at < NW_MOST_METRICS) {
        nw_metric metric = {name, value};
        run->metrics[at] = metric;
        run->metric_count += at == run->metric_count ? 1 : 0;
    }
}

// A random number of 64 bits made from any other, the same everywhere: one step of splitmix64 (Steele, Lea and Flood
// 2014, doi 10.1145/2660193.2660195), whose state goes through all numbers before one comes again.
static inline uint64_t nw_mix(uint64_t state) {
    uint64_t z = state + 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

// The random number of an index, so that threads can fill any part of an array. Each stream has numbers of its own: the
// run's seed for one array, `run->seed * 4 + 0`, `+ 1` … for several.
static inline uint64_t nw_random(uint64_t stream, uint64_t index) { return nw_mix(nw_mix(stream) + index); }

// Where a rank's part of `count` things begins: equal neighbouring parts, the first ones larger by one where they do
// not divide. The part of `rank` ends where that of `rank + 1` begins.
static inline uint64_t nw_begin(uint64_t count, int rank, int ranks) {
    const uint64_t each = count / (uint64_t)ranks;
    const uint64_t rest = count % (uint64_t)ranks;
    return (uint64_t)rank * each + ((uint64_t)rank < rest ? (uint64_t)rank : rest);
}

// A random number as one in [0, 1), of which all 53 bits are random.
static inline double nw_uniform(uint64_t random) { return (double)(random >> 11U) / 9007199254740992.0; }

// Whether so many bytes are more than the last cache holds: then a result that is not read again is better written past
// the caches.
static inline int nw_exceeds_cache(uint64_t bytes) {
    const long usual = 32L << 20;
    const long last = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > (uint64_t)(last > 0 ? last : usual);
}

#ifdef __cplusplus
}
#endif
