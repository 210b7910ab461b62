// SPDX-License-Identifier: BSD-3-Clause
// A parallel region, and one within each of its threads where TEAM_INNER is set: every thread prints its number (within its
// team, after that of its team's first thread) and the processors that it may use.
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 65536 };

static void print(int outer, int inner) {
    static __thread unsigned char mask[MOST / 8];
    memset(mask, 0, sizeof mask);
    if (sched_getaffinity(0, sizeof mask, (cpu_set_t*)mask) != 0) {
        abort();
    }
#pragma omp critical
    {
        printf("thread %d.%d may use ", outer, inner);
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

int main(void) {
#pragma omp parallel
    {
        int outer = omp_get_thread_num();
        if (getenv("TEAM_INNER") == NULL) {
            print(outer, 0);
        } else {
#pragma omp parallel
            print(outer, omp_get_thread_num());
        }
    }
    return 0;
}
