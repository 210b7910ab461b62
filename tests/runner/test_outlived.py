# SPDX-License-Identifier: BSD-3-Clause
"""What outlived its runner: found by its number and its age, and by nothing else."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from nodewise.runner.outlived import end_outlived, now_s


@contextmanager
def _started(number: str, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """A command that bears the number; ended afterwards."""
    environment = {**os.environ, "NODEWISE_RUN": number}
    with subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def number() -> str:
    """Of no other run on this machine."""
    return uuid.uuid4().hex


def test_what_began_before_or_bears_another_number_goes_on(number: str) -> None:
    since = now_s()
    with _started(number, "sleep", "60") as mine, _started(f"{number}1", "sleep", "60") as other:
        assert end_outlived(number, now_s() + 1) == [] and mine.poll() is None
        assert end_outlived(number, since) == ["sleep"] and mine.wait(10) == -9
        assert end_outlived(number, since) == [] and other.poll() is None


def test_what_begins_within_the_tick_of_the_run_is_found(number: str) -> None:
    """The kernel counts beginnings in hundredths of a second, cut off."""
    for _ in range(3):
        while not 0.003 < now_s() % 0.01 < 0.004:
            pass
        since = now_s()
        with _started(number, "sleep", "60"):
            assert end_outlived(number, since) == ["sleep"]


#: Takes a name, and has a child that has another.
_PARENT = """
import os, subprocess, sys
open("/proc/self/comm", "wb").write(os.fsencode(sys.argv[1]))
print(subprocess.Popen(["sleep", "60"]).pid, flush=True)
input()
"""


@pytest.mark.parametrize(
    ("name", "ended"),
    [("nodewise-runner", []), ("x-nodewise-", ["sleep", "x-nodewise-"]), ("r\udcff) (", ["r\ufffd) (", "sleep"])],
)
def test_what_a_runner_that_lives_looks_after_goes_on(number: str, name: str, ended: list[str]) -> None:
    since = now_s()
    with _started(number, sys.executable, "-c", _PARENT, name) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        try:
            assert sorted(end_outlived(number, since)) == ended
        finally:
            with suppress(OSError):
                os.kill(child, 9)
