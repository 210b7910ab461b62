// SPDX-License-Identifier: BSD-3-Clause
// nodewise-rows N SLEEP_NS CHUNK: multiplies two matrices of N × N row by row in a loop of `schedule(dynamic, CHUNK)
// nowait`, and sleeps for so many nanoseconds after each row (0: not at all), on one thread. Prints as JSON its seconds
// and operations. The published study of governors runs three of these on one core.
#include <omp.h>
#include <time.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

double now_s() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// A whole number of its own argument, or −1.
long number(const char* text, long most) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    return end == text || *end != 0 || value < 0 || value > most ? -1 : value;
}

}  // namespace

int main(int count, char** words) {
    const long n = count == 4 ? number(words[1], 1 << 14) : -1;
    const long sleep_ns = count == 4 ? number(words[2], 999'999'999) : -1;
    const long chunk = count == 4 ? number(words[3], 1 << 14) : -1;
    if (n < 1 || sleep_ns < 0 || chunk < 1) {
        std::fputs("usage: nodewise-rows N SLEEP_NS CHUNK\n", stderr);
        return 2;
    }
    const auto size = static_cast<std::size_t>(n);
    std::vector<double> a(size * size);
    std::vector<double> b(size * size);
    std::vector<double> c(size * size, 0.0);
    for (std::size_t i = 0; i < size * size; ++i) {
        a[i] = static_cast<double>(i % 7) - 3;
        b[i] = static_cast<double>(i % 5) - 2;
    }
    const double begin = now_s();
#pragma omp parallel num_threads(1) default(shared)
    {
#pragma omp for schedule(dynamic, chunk) nowait
        for (std::size_t i = 0; i < size; ++i) {
            for (std::size_t k = 0; k < size; ++k) {
                for (std::size_t j = 0; j < size; ++j) {
                    c[i * size + j] += a[i * size + k] * b[k * size + j];
                }
            }
            if (sleep_ns > 0) {
                const timespec pause{0, sleep_ns};
                nanosleep(&pause, nullptr);
            }
        }
    }
    const double seconds = now_s() - begin;
    // every element is a sum of whole numbers, so that one of them can be held exactly
    double expected = 0;
    for (std::size_t k = 0; k < size; ++k) {
        expected += a[(size - 1) * size + k] * b[k * size + size - 1];
    }
    const bool right = c[size * size - 1] == expected;
    std::printf("{\"nodewise\": 1, \"seconds\": %.9g, \"flops\": %.17g, \"verified\": %s}\n", seconds,
                2.0 * std::pow(static_cast<double>(n), 3), right ? "true" : "false");
    return right ? 0 : 1;
}
