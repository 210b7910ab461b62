// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into a program with a real OpenMP runtime: pretends that the kernel allows the processors in
// PRETEND_PROCESSORS (such as 0-243), so that the runtime plans for a machine that is not here. Nothing is really bound,
// but binding to none of PRETEND_EXISTING (all that machine has; by default those allowed) fails as the kernel has it.
// Where PRETEND_SYSTEM names a file, the files below /sys/ are the lines of that: a path, a tab, and what the path holds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 65536 };
static int highest = -1, highest_existing = -1;
static unsigned char allowed[MOST / 8], existing[MOST / 8];

static int read_into(const char* text, unsigned char* set) {
    int most = -1;
    while (text != NULL && *text != '\0') {
        char* end = NULL;
        long first = strtol(text, &end, 10), last = first;
        if (*end == '-') {
            last = strtol(end + 1, &end, 10);
        }
        for (long p = first; p <= last && p < MOST; ++p) {
            set[p / 8] |= (unsigned char)(1U << (p % 8));
            most = p > most ? (int)p : most;
        }
        text = *end == ',' ? end + 1 : end;
    }
    return most;
}

// on first use: the runtime's own constructor runs before one of ours would
static void read_list(void) {
    static int done = 0;
    if (done++) {
        return;
    }
    highest = read_into(getenv("PRETEND_PROCESSORS"), allowed);
    const char* text = getenv("PRETEND_EXISTING");
    highest_existing = read_into(text != NULL ? text : getenv("PRETEND_PROCESSORS"), existing);
}

static int exists(size_t bytes, const void* mask) {
    read_list();
    for (size_t i = 0; i < bytes && i < sizeof existing; ++i) {
        if (((const unsigned char*)mask)[i] & existing[i]) {
            return 1;
        }
    }
    return 0;
}

// Each thread's mask is kept here, and a thread that is created starts with its creator's, as the kernel has it.
static __thread unsigned char own[MOST / 8];
static __thread int own_set;

static long give(size_t bytes, void* mask) {
    read_list();
    // as much as a kernel that knows all processors of the machine would write
    size_t need = (size_t)((highest_existing > highest ? highest_existing : highest) / 64 + 1) * 8;
    if (bytes < need) {
        errno = EINVAL;
        return -1;
    }
    if (mask == NULL) {
        errno = EFAULT;
        return -1;
    }
    memset(mask, 0, bytes);
    memcpy(mask, own_set ? own : allowed, need);
    return (long)need;
}

static int take(size_t bytes, const void* mask) {
    if (mask == NULL || !exists(bytes, mask)) {
        errno = mask == NULL ? EFAULT : EINVAL;
        return -1;
    }
    memset(own, 0, sizeof own);
    for (size_t i = 0; i < bytes && i < sizeof own; ++i) {
        own[i] = ((const unsigned char*)mask)[i] & existing[i];
    }
    own_set = 1;
    return 0;
}

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t* mask) {
    (void)pid;
    return give(bytes, mask) < 0 ? -1 : 0;
}

int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t* mask) {
    (void)pid;
    return take(bytes, mask);
}

int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t* mask) {
    (void)thread;
    return give(bytes, mask) < 0 ? errno : 0;
}

int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t* mask) {
    (void)thread;
    return take(bytes, mask) < 0 ? errno : 0;
}

// The mask that the attributes of the thread that is to be created next were last given, and which attributes.
static __thread unsigned char next[MOST / 8];
static __thread size_t next_bytes;
static __thread const pthread_attr_t* next_attributes;

int pthread_attr_setaffinity_np(pthread_attr_t* attributes, size_t bytes, const cpu_set_t* mask) {
    next_attributes = attributes;
    next_bytes = bytes < sizeof next ? bytes : sizeof next;
    memcpy(next, mask, next_bytes);
    return 0;
}

struct start {
    void* (*routine)(void*);
    void* argument;
    int set;
    unsigned char mask[MOST / 8];
};

static void* started(void* argument) {
    struct start* start = argument;
    void* (*routine)(void*) = start->routine;
    void* own_argument = start->argument;
    own_set = start->set;
    memcpy(own, start->mask, sizeof own);
    free(start);
    return routine(own_argument);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*), void* argument) {
    static int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    struct start* start = calloc(1, sizeof *start);
    start->routine = routine;
    start->argument = argument;
    start->set = own_set;
    memcpy(start->mask, own, sizeof own);
    if (attributes != NULL && attributes == next_attributes) {
        if (!exists(next_bytes, next)) {
            free(start);
            return EINVAL;
        }
        start->set = 1;
        memset(start->mask, 0, sizeof start->mask);
        for (size_t i = 0; i < next_bytes; ++i) {
            start->mask[i] = next[i] & existing[i];
        }
        next_attributes = NULL;
    }
    if (real == NULL) {
        real = (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))dlsym(RTLD_NEXT, "pthread_create");
    }
    return real(thread, attributes, started, start);
}

// what the file of the pretended system holds at a path; NULL where it has none
static FILE* pretended(FILE* (*real)(const char*, const char*), const char* path) {
    static char* text;
    const char* name = getenv("PRETEND_SYSTEM");
    if (text == NULL) {
        size_t room = 0;
        FILE* file = real(name, "r");
        if (file == NULL || getdelim(&text, &room, '\0', file) < 0) {
            abort();
        }
        fclose(file);
    }
    size_t length = strlen(path);
    for (char* line = text; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1) {
        if (strncmp(line, path, length) == 0 && line[length] == '\t') {
            const char* held = line + length + 1;
            return fmemopen((void*)held, (size_t)(strchr(held, '\n') + 1 - held), "r");
        }
    }
    errno = ENOENT;
    return NULL;
}

FILE* fopen(const char* path, const char* mode) {
    static FILE* (*real)(const char*, const char*);
    if (real == NULL) {
        real = (FILE * (*)(const char*, const char*)) dlsym(RTLD_NEXT, "fopen");
    }
    if (getenv("PRETEND_SYSTEM") != NULL && strncmp(path, "/sys/", 5) == 0) {
        return pretended(real, path);
    }
    return real(path, mode);
}

long sysconf(int name) {
    static long (*real)(int);
    if (name == _SC_NPROCESSORS_CONF || name == _SC_NPROCESSORS_ONLN) {
        read_list();
        return (highest_existing > highest ? highest_existing : highest) + 1;
    }
    if (real == NULL) {
        real = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    }
    return real(name);
}

long syscall(long number, ...) {
    static long (*real)(long, ...);
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; ++i) {
        a[i] = va_arg(list, long);
    }
    va_end(list);
    if (number == SYS_sched_getaffinity) {
        return give((size_t)a[1], (void*)a[2]);
    }
    if (number == SYS_sched_setaffinity) {
        return take((size_t)a[1], (const void*)a[2]);
    }
    if (real == NULL) {
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
