# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise place --allow`: what is started is held to the processors that it names, and what is printed says so."""

import json
import os
import subprocess
import sys

import pytest

from tests.started import started

HERE = sorted(os.sched_getaffinity(0))


def place(*words: str) -> "subprocess.CompletedProcess[str]":
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "KMP_", "GOMP_"))}
    return started("place", *words, env=env)


def places(*words: str) -> dict[str, object]:
    done = place(*words, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(len(HERE) < 2, reason="of one processor nothing is left out")
@pytest.mark.parametrize(
    "words",
    [["compact"], ["os"], ["--places", "cores"], ["--memory", "local"], ["compact", "--via", "mask"], ["compact", "--via", "openmp"]],
)  # fmt: skip
def test_a_program_is_held_to_the_processors_of_allow(words: list[str]) -> None:
    code = "import os; print(sorted(os.sched_getaffinity(0)))"
    done = place("--allow", str(HERE[-1]), *words, "--", sys.executable, "-c", code)
    assert done.stdout == f"[{HERE[-1]}]\n", done.stderr


@pytest.mark.skipif(len(HERE) < 2, reason="of one processor nothing is left out")
def test_the_launch_line_holds_to_the_processors_of_allow_what_has_nothing_else_to_do_it() -> None:
    last = HERE[-1]
    assert place("--allow", str(last), "os").stdout.splitlines()[-1] == f"launch     taskset -c {last} PROGRAM"
    done = place("--allow", str(last), "compact", "--threads", "2")
    assert done.stdout.splitlines()[-1] == f"launch     OMP_NUM_THREADS=2 taskset -c {last} PROGRAM"
    assert "that this process may use of" in done.stderr and "(by --allow)" in done.stderr
    assert places("--allow", str(last), "compact")["mask"] == [last]
    # all that may be used anyway needs nobody to hold it
    every = ",".join(map(str, HERE))
    assert "taskset" not in place("--allow", every, "compact").stdout
    assert places("--allow", every, "os")["mask"] is None
