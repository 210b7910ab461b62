# SPDX-License-Identifier: BSD-3-Clause
"""What counters say of a run's clock, on a machine whose counters are emulated: a library between the runner and the kernel answers for them."""

import os
import shlex
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from nodewise.base.native import native_path
from nodewise.runner.local import LocalLauncher
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from tests.systems import CPU, write

# perf_event_open(2) opens the file TYPE-CONFIG of the folder COUNTERS, of which each read takes the next eight bytes; KERNEL
# is the error that counting the kernel, too, ends with
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
long syscall(long number, ...) {
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
    va_end(list);
    if (number != SYS_perf_event_open) {
        long (*next)(long, ...) = dlsym(RTLD_NEXT, "syscall");
        return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
    const struct perf_event_attr* asked = (const struct perf_event_attr*)a[0];
    if (getenv("KERNEL") && asked->type == PERF_TYPE_HARDWARE && !asked->exclude_kernel) {
        errno = atoi(getenv("KERNEL"));
        return -1;
    }
    char path[512];
    snprintf(path, sizeof path, "%s/%u-%llu", getenv("COUNTERS"), asked->type, (unsigned long long)asked->config);
    return open(path, O_RDONLY | O_CLOEXEC);
}
"""
CYCLES, INSTRUCTIONS, CACHE_MISSES, BRANCH_MISSES, MIGRATIONS = "0-0", "0-1", "0-3", "0-5", "1-4"
BUSY = "import time\nwhile time.process_time() < 0.1: pass"

Count = Callable[..., tuple[Sample, str]]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "shim.c", "-o", "shim.so", "-ldl"], cwd=folder, check=True)
    return folder / "shim.so"


@pytest.fixture
def count(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Count:
    """Run a program on a machine that counts as given (before and after the run), whose files are those of `system`."""

    def run(counters: Mapping[str, tuple[int, int]], system: Mapping[str, str], error: int = 0) -> tuple[Sample, str]:
        for name, values in counters.items():
            (tmp_path / name).write_bytes(struct.pack("=QQ", *values))
        own = tmp_path / "native"
        own.mkdir()
        lines = f"LD_PRELOAD={library} COUNTERS={shlex.quote(str(tmp_path))} {f'KERNEL={error}' if error else ''}"
        runner = native_path("nodewise-runner")
        (own / "nodewise-runner").write_text(f'#!/bin/sh\n{lines} exec {shlex.quote(str(runner))} "$@"\n')
        (own / "nodewise-runner").chmod(0o755)
        monkeypatch.setenv("NODEWISE_NATIVE", str(own))
        with LocalLauncher(root=write(tmp_path / "root", system)) as launcher:
            sample = launcher.run(Setting(command=(sys.executable, "-c", BUSY)))
            assert sample.ok and launcher.counters_missing is not None
            return sample, launcher.counters_missing

    return run


def base(kilohertz: str, processor: int = 0) -> dict[str, str]:
    return {f"{CPU}/cpu{processor}/cpufreq/base_frequency": kilohertz}


def test_the_clock_is_cycles_by_processor_time_and_its_base_is_the_first_processors(count: Count) -> None:
    system = base("2500000") | base("1800000", 1) | {f"{CPU}/cpu0/cpufreq/scaling_cur_freq": "900000"}
    counters = {CYCLES: (700, 700 + 10**9), INSTRUCTIONS: (5, 15), CACHE_MISSES: (1, 2), BRANCH_MISSES: (3, 5)}
    sample, missing = count(counters | {MIGRATIONS: (4, 4)}, system)
    usage, conditions = sample.usage, sample.conditions
    assert (usage["cycles"], usage["instructions"]) == (10**9, 10) and not missing
    assert (usage["cache_misses"], usage["branch_misses"], usage["migrations"]) == (1, 2, 0)
    assert conditions["frequency_hz"] == pytest.approx(10**9 / (usage["user_s"] + usage["system_s"]), rel=1e-4)
    assert conditions["base_frequency_hz"] == 2.5e9


@pytest.mark.parametrize("system", [{}, base("pear"), base("0")])
def test_where_no_base_is_shown_none_is_said(count: Count, system: Mapping[str, str]) -> None:
    conditions = count({CYCLES: (0, 10**9)}, system)[0].conditions
    assert conditions["frequency_hz"] > 0 and "base_frequency_hz" not in conditions


def test_a_clock_below_its_base_marks_the_run(count: Count) -> None:
    slow = count({CYCLES: (0, 10**8)}, base("2500000"))[0]
    assert slow.conditions["frequency_hz"] < 2e9
    assert any(m.startswith("clock: ") and m.endswith("below its base of 2.50 GHz") for m in slow.marks)


def test_what_may_not_count_the_kernel_counts_the_program_alone(count: Count) -> None:
    sample, missing = count({CYCLES: (0, 10**9)}, {}, error=13)
    assert sample.conditions["frequency_hz"] == pytest.approx(10**9 / sample.usage["user_s"], rel=1e-4)
    # of those that are not there at all the first says why
    assert missing == "the processor or hypervisor shows none"


@pytest.mark.parametrize(("error", "why"), [(38, "the kernel has no perf events, or a container hides them")])
def test_why_nothing_is_counted(count: Count, error: int, why: str) -> None:
    sample, missing = count(
        {}, {f"{CPU}/cpu{p}/cpufreq/scaling_cur_freq": "900000" for p in range(os.cpu_count() or 1)}, error
    )
    assert missing == why and sample.conditions["frequency_hz"] == 9e8
    assert not {"cycles", "instructions", "migrations"} & sample.usage.keys()
