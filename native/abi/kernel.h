// SPDX-License-Identifier: BSD-3-Clause
// What a study's native code and the worker say to each other. The only header that a kernel includes; plain C, so that
// a file compiled for a newer instruction set leaves no shared C++ symbol behind.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NW_ABI 1

typedef enum { NW_U8 = 1, NW_I32, NW_I64, NW_F32, NW_F64 } nw_type;
typedef enum { NW_INPUT = 0, NW_OUTPUT = 1, NW_SCRATCH = 2 } nw_role;

// An array, allocated by the worker, 64-byte aligned. Inputs are filled by the study, outputs are checked and dumped.
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

#define NW_MOST_BUFFERS 16

// One run: so many threads, these knobs, these arrays. `own` is the study's, from prepare to release.
typedef struct {
    int threads;
    uint64_t seed;
    const nw_knob* knobs;
    size_t knob_count;
    nw_buffer buffers[NW_MOST_BUFFERS];
    size_t buffer_count;
    void* own;
    char error[256];  // what is wrong, for a function that returns not 0
} nw_run;

// How much work one repetition is. `items` is what the study's rate counts; the rest is 0 where it means nothing.
typedef struct {
    double items;
    double flops;
    double bytes_read;
    double bytes_written;
} nw_work;

typedef enum { NW_VARIANT = 0, NW_LIMIT = 1 } nw_kind;

// One way to do the work. A limit does only what no way can do without, and its result is not checked. `needs` names
// processor features as the compiler does, separated by commas ("avx2,fma"); empty runs everywhere.
typedef struct {
    const char* name;
    nw_kind kind;
    const char* needs;
    int (*run)(nw_run*);
} nw_variant;

// A study. Functions return 0, or not 0 with the reason in `error`. In order: layout declares the buffers of the knobs;
// fill writes the inputs from the seed, equal for any number of threads; reset, before each repetition, puts back what
// a run changes; a variant's run is what is timed; check judges the outputs by what they must be, not by how they were
// made.
typedef struct {
    uint32_t abi;
    const char* name;
    int (*layout)(nw_run*);
    int (*fill)(nw_run*);
    int (*reset)(nw_run*);
    int (*check)(nw_run*);
    void (*work)(const nw_run*, nw_work*);
    void (*release)(nw_run*);  // frees `own`; may be null
    const nw_variant* variants;
    size_t variant_count;
} nw_study;

// The one symbol that a study's shared object exports.
const nw_study* nodewise_study(void);

#ifdef __cplusplus
}
#endif
