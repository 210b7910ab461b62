// SPDX-License-Identifier: BSD-3-Clause
// Says for each OpenMP thread which processors the kernel lets it use, and on which one it is.
#include <omp.h>
#include <sched.h>

#include <cstdio>
#include <string>
#include <vector>

int main() {
    std::vector<std::string> lines(static_cast<std::size_t>(omp_get_max_threads()));
#pragma omp parallel
    {
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
        std::string text;
        for (int p = 0; p < CPU_SETSIZE; ++p) {
            if (CPU_ISSET(p, &set)) {
                text += " " + std::to_string(p);
            }
        }
        lines[static_cast<std::size_t>(omp_get_thread_num())] = std::to_string(sched_getcpu()) + ":" + text;
    }
    for (const std::string& line : lines) {
        std::puts(line.c_str());
    }
}
