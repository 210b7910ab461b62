// SPDX-License-Identifier: BSD-3-Clause
// Parallel regions within each other, as many as TEAM_LEVELS says (without it one): every thread of the innermost prints its
// number, after those of the threads whose teams it is within, and the processors that it may use.
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 65536, NAME = 64 };

static void print(const char* name) {
    static __thread unsigned char mask[MOST / 8];
    memset(mask, 0, sizeof mask);
    if (sched_getaffinity(0, sizeof mask, (cpu_set_t*)mask) != 0) {
        abort();
    }
#pragma omp critical
    {
        printf("thread %s may use ", name);
        const char* mark = "";
        for (int p = 0; p < MOST; ++p) {
            if (mask[p / 8] >> (p % 8) & 1) {
                printf("%s%d", mark, p);
                mark = ",";
            }
        }
        printf("\n");
    }
}

static void team(int levels, const char* of) {
#pragma omp parallel
    {
        char name[NAME];
        snprintf(name, sizeof name, "%s%s%d", of, *of ? "." : "", omp_get_thread_num());
        if (levels > 1) {
            team(levels - 1, name);
        } else {
            print(name);
        }
    }
}

int main(void) {
    const char* levels = getenv("TEAM_LEVELS");
    team(levels == NULL ? 1 : atoi(levels), "");
    return 0;
}
