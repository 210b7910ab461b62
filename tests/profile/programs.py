# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose profile is known: three functions that take half, three tenths and a fifth of the time, on one thread or on two."""

import functools
import shutil
import subprocess
from pathlib import Path

import pytest

SHARES = {"half": 0.5, "third": 0.3, "fifth": 0.2}
SOURCE = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static volatile double sink;
#define WORK(name) \\
    __attribute__((noinline)) static void name(long n) { \\
        double x = 1; \\
        for (long i = 0; i < n; ++i) x = x * 1.0000001 + 1e-9; \\
        sink = x; \\
    }
WORK(half)
WORK(third)
WORK(fifth)
__attribute__((noinline)) static void phases(long n) {
    for (int k = 0; k < 50; ++k) {
        half(5 * n);
        third(3 * n);
        fifth(2 * n);
    }
    sink = 0;
}
static void* other(void* n) {
    phases(*(long*)n);
    return 0;
}
int main(int argc, char** argv) {
    long n = atol(argv[1]);
    pthread_t thread;
    if (argc > 2) {
        pthread_create(&thread, 0, other, &n);
        usleep(100000);
        pthread_join(thread, 0);
    } else {
        phases(n);
    }
    return argc > 3 ? atoi(argv[3]) : 0;
}
"""


def need_perf() -> None:
    """Skip a test where Linux perf cannot sample."""
    if why := _why_not():
        pytest.skip(why)


@functools.cache
def _why_not() -> str:
    if shutil.which("perf") is None:
        return "Linux perf is not installed (Debian: linux-perf)"
    done = subprocess.run(
        ["perf", "record", "-q", "-o", "-", "-e", "cpu-clock", "--", "true"], capture_output=True, check=False
    )
    return "perf may not sample here (kernel.perf_event_paranoid)" if done.returncode else ""


def compiled(folder: Path, *flags: str) -> Path:
    """The program, with debug information."""
    (folder / "work.c").write_text(SOURCE)
    subprocess.run(["cc", "-O1", "-g", *flags, "work.c", "-o", "work", "-lpthread"], cwd=folder, check=True)
    return folder / "work"
