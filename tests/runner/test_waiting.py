# SPDX-License-Identifier: BSD-3-Clause
"""How long the threads of a run waited for a processor, and how many of them worked."""

import os
import sys
from pathlib import Path

import pytest

from nodewise.runner.local import LocalLauncher
from nodewise.runner.setting import Setting

HERE = sorted(os.sched_getaffinity(0))


def _kernel_counts() -> bool:
    """Whether it says of this process, which has long run, that it did: all is zero where it does not count."""
    own = Path("/proc/self/schedstat")
    return own.exists() and int(own.read_text().split()[0]) > 0


pytestmark = pytest.mark.skipif(not _kernel_counts(), reason="the kernel does not report how long threads waited")


def test_waiting_of_threads_and_children_is_counted() -> None:
    # three spin on one processor for as long as one alone would take, so each waits two thirds of the time
    spin = "import time; t = time.monotonic()\nwhile time.monotonic() - t < 0.3: pass"
    code = f"import subprocess, sys; p = [subprocess.Popen([sys.executable, '-c', {spin!r}]) for _ in range(3)]; [q.wait() for q in p]"
    with LocalLauncher() as launcher:
        sample = launcher.run(Setting(command=(sys.executable, "-c", code), mask=(HERE[0],)))
    own = sample.usage["user_s"] + sample.usage["system_s"]
    assert sample.usage["watched_threads"] >= 3
    assert 0.3 * own < sample.usage["watched_s"] <= 1.01 * own
    assert sample.usage["waited_s"] > sample.usage["watched_s"]


def test_work_far_below_the_program_is_seen() -> None:
    # scripts that start scripts: only the last of four works
    code = "import time; t = time.process_time()\nwhile time.process_time() - t < 0.8: pass"
    for _ in range(3):
        code = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {code!r}])"
    with LocalLauncher() as launcher:
        sample = launcher.run(Setting(command=(sys.executable, "-S", "-c", code)))
    assert sample.usage["watched_s"] > 0.5 * (sample.usage["user_s"] + sample.usage["system_s"])


def test_threads_that_only_sleep_are_none_that_worked() -> None:
    spin = "t = time.process_time()\nwhile time.process_time() - t < 0.3: pass"
    code = (
        f"import threading, time; [threading.Thread(target=time.sleep, args=[0.5]).start() for _ in range(4)]\n{spin}"
    )
    with LocalLauncher() as launcher:
        sample = launcher.run(Setting(command=(sys.executable, "-c", code)))
    assert sample.usage["watched_threads"] == 1


def test_a_thread_worked_that_did_a_twentieth_of_all_work() -> None:
    spin = "t = time.process_time()\nwhile time.process_time() - t < {}: pass"
    parts = [spin.format(seconds) for seconds in (0.8, 0.08, 0.002)]
    code = f"import subprocess, sys; p = [subprocess.Popen([sys.executable, '-S', '-c', 'import time; ' + s]) for s in {parts!r}]; [q.wait() for q in p]"
    with LocalLauncher() as launcher:
        sample = launcher.run(Setting(command=(sys.executable, "-S", "-c", code)))
    # the second with its start has a tenth, and the starts of the others a few hundredths
    assert sample.usage["watched_threads"] in (2, 3)
    assert 0.5 < sample.usage["busiest_s"] / sample.usage["watched_s"] < 0.95
