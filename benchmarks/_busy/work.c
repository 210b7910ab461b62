// SPDX-License-Identifier: BSD-3-Clause
// Work of a known amount, and load for others to be measured beside.
//   work compute UNITS            arithmetic in registers
//   work stream UNITS             passes over 32 MiB
//   work team THREADS UNITS       arithmetic in equal parts, with a barrier that spins after each of many steps
//   work hog                      never ends
//   work burst ON_S OFF_S SEED    works and sleeps for random times of these means
//   work memory                   passes over 256 MiB, without end
//   work jobs RATE LENGTH_S SEED  starts short processes, so many a second on the average
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kSteps = 40, kMost = 64 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t compute(double units) {
    uint64_t x = 88172645463325252u;
    for (uint64_t n = (uint64_t)(units * 1e4); n > 0; --n) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

static uint64_t* touched(size_t bytes) {
    uint64_t* data = malloc(bytes);
    memset(data, 1, bytes);
    return data;
}

static uint64_t stream(const uint64_t* data, double units, size_t bytes) {
    const size_t count = bytes / sizeof *data;
    uint64_t sum = 0;
    for (uint64_t left = (uint64_t)(units * 1e4); left > 0;) {
        const size_t part = left < count ? left : count;
        for (size_t i = 0; i < part; ++i) {
            sum += data[i];
        }
        left -= part;
    }
    return sum;
}

static atomic_int arrived;
static int team;
static double share;
static uint64_t results[kMost];

static void* member(void* number) {
    for (int step = 1; step <= kSteps; ++step) {
        results[(intptr_t)number] += compute(share);
        atomic_fetch_add(&arrived, 1);
        while (atomic_load(&arrived) < step * team) {
        }
    }
    return NULL;
}

static uint64_t work_together(int threads, double units) {
    pthread_t others[kMost];
    team = threads;
    share = units / (kSteps * threads);
    for (intptr_t i = 1; i < threads; ++i) {
        pthread_create(&others[i], NULL, member, (void*)i);
    }
    member(NULL);
    for (int i = 1; i < threads; ++i) {
        pthread_join(others[i], NULL);
    }
    return results[0];
}

static double exponential(double mean) { return -mean * log(1 - drand48()); }

static void pause_for(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
    nanosleep(&t, NULL);
}

static void spin(double seconds) {
    for (const double end = now() + seconds; now() < end;) {
        compute(1);
    }
}

int main(int count, char** words) {
    const char* what = count > 1 ? words[1] : "";
    const double first = count > 2 ? atof(words[2]) : 0;
    const double second = count > 3 ? atof(words[3]) : 0;
    if (count > 4) {
        srand48(atol(words[4]));
    }
    uint64_t result = 0;
    double begin = now();
    if (!strcmp(what, "compute")) {
        result = compute(first);
    } else if (!strcmp(what, "stream")) {
        const size_t bytes = (size_t)32 << 20;
        const uint64_t* data = touched(bytes);
        begin = now();
        result = stream(data, first, bytes);
    } else if (!strcmp(what, "team") && first >= 1 && first <= kMost) {
        result = work_together((int)first, second);
    } else {
        // load ends with whoever started it
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGCHLD, SIG_IGN);
        while (!strcmp(what, "hog")) {
            compute(1);
        }
        while (!strcmp(what, "burst")) {
            spin(exponential(first));
            pause_for(exponential(second));
        }
        if (!strcmp(what, "memory")) {
            const size_t bytes = (size_t)256 << 20;
            for (const uint64_t* data = touched(bytes);;) {
                result += stream(data, 1e4, bytes);
            }
        }
        while (!strcmp(what, "jobs")) {
            pause_for(exponential(1 / first));
            const double length = exponential(second);
            if (fork() == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                spin(length);
                _exit(0);
            }
        }
        return 2;
    }
    printf("{\"nodewise\": 1, \"seconds\": %.9f, \"verified\": %s}\n", now() - begin, result ? "true" : "false");
    return 0;
}
