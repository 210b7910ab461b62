/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a program may say of itself to nodewise: seconds in regions, work done, whether the result is right.
 *
 *     #include "nodewise.h"           // cc -I"$(nodewise --include-dir)"
 *
 *     nodewise_start("solve");
 *     ...
 *     nodewise_stop("solve");
 *     nodewise_count("items", cells);
 *     nodewise_verified(error < 1e-9);
 *     nodewise_report("solve");       // one line; "solve" is what is compared
 *
 * C99 with POSIX clocks (-std=gnu99, or _POSIX_C_SOURCE >= 199309L) or C++, by GCC, Clang and what is like them;
 * nothing to link. Regions may be entered by several threads at once: a region's seconds are those of the thread that
 * spent the most in it. One region may lie inside another; the same one may not lie inside itself. The files of a
 * program share what they count.
 */
#ifndef NODEWISE_H
#define NODEWISE_H

#include <stdio.h>
#include <string.h>
#include <time.h>

#ifndef CLOCK_MONOTONIC
#error "nodewise.h needs clock_gettime: compile with -std=gnu99 or newer, or with -D_POSIX_C_SOURCE=200809L"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* More names than these, and what is longer, are left out. */
enum { NODEWISE_MOST_NAMES = 64, NODEWISE_LONGEST_NAME = 63 };

struct nodewise_shared {
    char lock;
    int names;
    int wrong;
    int checked;
    char name[NODEWISE_MOST_NAMES][NODEWISE_LONGEST_NAME + 1];
    char is_region[NODEWISE_MOST_NAMES];
    double value[NODEWISE_MOST_NAMES];
    double calls[NODEWISE_MOST_NAMES];
};

struct nodewise_own {
    double began[NODEWISE_MOST_NAMES];
    double spent[NODEWISE_MOST_NAMES];
    double calls[NODEWISE_MOST_NAMES];
};

/* weak: each file that includes this has one, and the linker keeps one of them */
__attribute__((weak)) struct nodewise_shared nodewise_shared_state;
__attribute__((weak)) __thread struct nodewise_own nodewise_own_state;

static inline double nodewise_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void nodewise_lock(void) {
    while (__atomic_test_and_set(&nodewise_shared_state.lock, __ATOMIC_ACQUIRE)) {
    }
}

static inline void nodewise_unlock(void) { __atomic_clear(&nodewise_shared_state.lock, __ATOMIC_RELEASE); }

/* The place of a name, which is made where it is new; -1 where there is no room. The caller holds the lock. */
static inline int nodewise_place(const char* name, int region) {
    char kept[NODEWISE_LONGEST_NAME + 1];
    int i;
    size_t n;
    for (n = 0; n < NODEWISE_LONGEST_NAME && name[n] != '\0'; ++n) {
        const unsigned char c = (unsigned char)name[n];
        /* nothing that would end a text in JSON */
        kept[n] = (char)(c < 32 || c > 126 || c == '"' || c == '\\' ? '_' : c);
    }
    kept[n] = '\0';
    for (i = 0; i < nodewise_shared_state.names; ++i) {
        if (nodewise_shared_state.is_region[i] == region && strcmp(nodewise_shared_state.name[i], kept) == 0) {
            return i;
        }
    }
    if (i == NODEWISE_MOST_NAMES) {
        return -1;
    }
    memcpy(nodewise_shared_state.name[i], kept, n + 1);
    nodewise_shared_state.is_region[i] = (char)region;
    nodewise_shared_state.names = i + 1;
    return i;
}

/* Begin a region on this thread. */
static inline void nodewise_start(const char* region) {
    int i;
    nodewise_lock();
    i = nodewise_place(region, 1);
    nodewise_unlock();
    if (i >= 0) {
        nodewise_own_state.began[i] = nodewise_now();
    }
}

/* End it; without a start before it does nothing. */
static inline void nodewise_stop(const char* region) {
    const double now = nodewise_now();
    struct nodewise_own* const own = &nodewise_own_state;
    int i;
    nodewise_lock();
    i = nodewise_place(region, 1);
    if (i >= 0 && own->began[i] > 0) {
        own->spent[i] += now - own->began[i];
        own->calls[i] += 1;
        own->began[i] = 0;
        if (own->spent[i] > nodewise_shared_state.value[i]) {
            nodewise_shared_state.value[i] = own->spent[i];
        }
        if (own->calls[i] > nodewise_shared_state.calls[i]) {
            nodewise_shared_state.calls[i] = own->calls[i];
        }
    }
    nodewise_unlock();
}

/* Add to a number: "flops", "bytes" and "items" are the work done, any other name is a metric. */
static inline void nodewise_count(const char* name, double amount) {
    int i;
    nodewise_lock();
    i = nodewise_place(name, 0);
    if (i >= 0) {
        nodewise_shared_state.value[i] += amount;
    }
    nodewise_unlock();
}

/* Say whether a part of the result is right; the result is where all parts are. */
static inline void nodewise_verified(int right) {
    nodewise_lock();
    nodewise_shared_state.checked = 1;
    nodewise_shared_state.wrong |= !right;
    nodewise_unlock();
}

/* Print all of it as one line, once at the end. What is compared is the time of `region`, or of the whole program for
 * NULL. */
static inline void nodewise_report(const char* region) {
    int i;
    nodewise_lock();
    printf("\n{\"nodewise\": 1");
    for (i = 0; i < nodewise_shared_state.names; ++i) {
        const char* const name = nodewise_shared_state.name[i];
        if (!nodewise_shared_state.is_region[i]) {
            printf(", \"%s\": %.17g", name, nodewise_shared_state.value[i]);
            continue;
        }
        if (region != NULL && strcmp(name, region) == 0) {
            printf(", \"seconds\": %.9f", nodewise_shared_state.value[i]);
        }
        printf(", \"%s_s\": %.9f, \"%s_calls\": %.0f", name, nodewise_shared_state.value[i], name,
               nodewise_shared_state.calls[i]);
    }
    if (nodewise_shared_state.checked) {
        printf(", \"verified\": %s", nodewise_shared_state.wrong ? "false" : "true");
    }
    printf("}\n");
    fflush(stdout);
    nodewise_unlock();
}

#ifdef __cplusplus
}
#endif

#endif
