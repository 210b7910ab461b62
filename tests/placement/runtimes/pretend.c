// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into a program with a real OpenMP runtime: pretends that the kernel has the processors in PRETEND_PROCESSORS
// (such as 0-243), so that the runtime plans for a machine that is not here. Nothing is really bound. Files below /sys/ are
// read below PRETEND_SYSTEM instead, where that is set.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int highest = -1;
static unsigned char allowed[65536 / 8];

// on first use: the runtime's own constructor runs before one of ours would
static void read_list(void) {
    static int done = 0;
    if (done++) {
        return;
    }
    const char* text = getenv("PRETEND_PROCESSORS");
    while (text != NULL && *text != '\0') {
        char* end = NULL;
        long first = strtol(text, &end, 10), last = first;
        if (*end == '-') {
            last = strtol(end + 1, &end, 10);
        }
        for (long p = first; p <= last && p < 65536; ++p) {
            allowed[p / 8] |= (unsigned char)(1U << (p % 8));
            highest = p > highest ? (int)p : highest;
        }
        text = *end == ',' ? end + 1 : end;
    }
}

static long give(size_t bytes, void* mask) {
    read_list();
    size_t need = (((size_t)highest / 8 + 1) + 7) & ~(size_t)7;
    if (bytes < need) {
        errno = EINVAL;
        return -1;
    }
    if (mask == NULL) {
        errno = EFAULT;
        return -1;
    }
    memset(mask, 0, bytes);
    memcpy(mask, allowed, need);
    return (long)need;
}

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t* mask) {
    (void)pid;
    return give(bytes, mask) < 0 ? -1 : 0;
}

int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t* mask) {
    (void)pid;
    (void)bytes;
    if (mask == NULL) {
        errno = EFAULT;
        return -1;
    }
    return 0;
}

int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t* mask) {
    (void)thread;
    return give(bytes, mask) < 0 ? errno : 0;
}

int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t* mask) {
    (void)thread;
    (void)bytes;
    (void)mask;
    return 0;
}

// a new thread could not be bound to processors that are not here
int pthread_attr_setaffinity_np(pthread_attr_t* attributes, size_t bytes, const cpu_set_t* mask) {
    (void)attributes;
    (void)bytes;
    (void)mask;
    return 0;
}

FILE* fopen(const char* path, const char* mode) {
    static FILE* (*real)(const char*, const char*);
    const char* root = getenv("PRETEND_SYSTEM");
    char moved[PATH_MAX];
    if (real == NULL) {
        real = (FILE * (*)(const char*, const char*)) dlsym(RTLD_NEXT, "fopen");
    }
    if (root != NULL && strncmp(path, "/sys/", 5) == 0) {
        snprintf(moved, sizeof moved, "%s%s", root, path);
        path = moved;
    }
    return real(path, mode);
}

long sysconf(int name) {
    static long (*real)(int);
    if (name == _SC_NPROCESSORS_CONF || name == _SC_NPROCESSORS_ONLN) {
        read_list();
        return highest + 1;
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
        return sched_setaffinity(0, (size_t)a[1], (const cpu_set_t*)a[2]);
    }
    if (real == NULL) {
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
