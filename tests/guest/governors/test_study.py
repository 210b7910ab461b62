# SPDX-License-Identifier: BSD-3-Clause
"""The study of governors where a driver sets frequencies and the kernel counts their changes; times in the guest mean nothing, and none is looked at.

Each study is a process of its own, forked from this one, since a start of the interpreter takes seconds here.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from nodewise.machine.frequencies import read_frequency_control
from tests.started import _load

PROCESSOR = 0
#: What is set before, so that both of those that are compared are a change.
BEFORE, COMPARED = "powersave", "performance,ondemand"
KILLS = int(os.environ.get("NODEWISE_GUEST_KILLS", "100"))
#: How long after its start a study may be killed, or after it has set another governor: some of its runs.
LATEST_S = 4.0
LIMIT_S = 300.0
ROOT = Path("/")


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """What a study needs, which those that are forked then have."""
    _load()


@pytest.fixture(autouse=True)
def _governor() -> None:
    for processor in sorted(os.sched_getaffinity(0)):
        file_of(processor).write_text(BEFORE)


def file_of(processor: int) -> Path:
    return ROOT / f"sys/devices/system/cpu/cpu{processor}/cpufreq/scaling_governor"


def governors() -> list[str]:
    return [file_of(processor).read_text().strip() for processor in sorted(os.sched_getaffinity(0))]


def study(folder: Path, *more: str) -> int:
    """The process of `nodewise governors --change-governor`, the first of a group of its own."""
    words = ["governors", "--change-governor", "--only", COMPARED, "--allow", str(PROCESSOR), "--quick", *more]
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.setpgid(0, 0)
        folder.mkdir()
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(folder / name, os.O_CREAT | os.O_WRONLY), number)
        # pytest has put others in their place, which write elsewhere
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        from nodewise.__main__ import start

        sys.argv = ["nodewise", *words, "--out", str(folder / "kept")]
        code = start()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def processes() -> dict[int, tuple[int, str]]:
    """All processes with their parent and name, but for the kernel's threads."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                text = (folder / "stat").read_text()
            except OSError:
                continue
            head, _, tail = text.rpartition(")")
            state, parent = tail.split()[:2]
            if state not in "ZX" and int(folder.name) != 2 and int(parent) != 2:
                found[int(folder.name)] = (int(parent), head.partition("(")[2])
    return found


def until(holds: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
    end = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end, f"{what}; {governors()}; {processes()}"
        time.sleep(0.05)


def ended(child: int) -> int:
    """How it ended, once it has."""
    status = [0]

    def gone() -> bool:
        done, status[0] = os.waitpid(child, os.WNOHANG)
        return done == child

    until(gone, "the study does not end")
    return os.waitstatus_to_exitcode(status[0])


def test_governors_are_compared_and_the_kernel_counts(tmp_path: Path) -> None:
    before = read_frequency_control(ROOT, PROCESSOR)
    assert before is not None and before.driver == "acpi-cpufreq" and before.counted
    child = study(tmp_path / "study", "--json")
    code = ended(child)
    assert code == 0, (tmp_path / "study/err").read_text()
    found = json.loads((tmp_path / "study/out").read_text())
    assert found["governors"] == COMPARED.split(",") and found["changed"]
    counts = {(row["workload"], row["governor"]): row["transitions"] for row in found["rows"]}
    print(counts)
    assert len(counts) == 6 and counts["three that sleep", "ondemand"] > 0
    # the one to the highest, where it was not there yet
    assert all(count <= 1 for (_, governor), count in counts.items() if governor == "performance"), counts
    assert found["before"]["governor"] == found["after"]["governor"] == BEFORE and set(governors()) == {BEFORE}
    assert found["after"]["transitions"] > found["before"]["transitions"] >= before.transitions
    top = str(found["after"]["frequencies_khz"][0])
    into = {start: ends[top] for start, ends in found["after"]["changes"].items() if top in ends}
    assert sum(into.values()) > 0
    counted = sum(sum(ends.values()) for ends in found["after"]["changes"].values())
    # a governor may change it between the two files
    assert abs(counted - found["after"]["transitions"]) <= 2


def test_the_tables_are_shown_before_and_after(tmp_path: Path) -> None:
    child = study(tmp_path / "study")
    assert ended(child) == 0, (tmp_path / "study/err").read_text()
    said = (tmp_path / "study/out").read_text()
    above, _, below = said.partition("afterwards")
    for part in (above, below):
        assert f"acpi-cpufreq, {BEFORE}" in part and "since the start: " in part
    assert "back to the top from: " in below


def test_the_governor_is_as_it_was_after_each_of_many_kills(tmp_path: Path) -> None:
    dice = random.Random(KILLS)
    own = set(processes())
    changed, hit = 0, {}
    for kill in range(KILLS):
        child = study(tmp_path / str(kill))
        # half of them at any moment of the start, when nothing may have been set yet
        if kill % 2:
            until(lambda: set(governors()) != {BEFORE}, "no governor is set")
        time.sleep(dice.uniform(0, LATEST_S))
        changed += set(governors()) != {BEFORE}
        there = {pid: name for pid, (_, name) in processes().items() if pid not in own}
        victims = {"study": [child], "group": [-child]}
        for pid, name in there.items():
            if pid != child:
                victims.setdefault(name, []).append(pid)
        name = dice.choice(sorted(victims))
        victim = dice.choice(victims[name])
        hit[name] = hit.get(name, 0) + 1
        # a negative number is a group's
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        # one whose part was killed says so and ends
        ended(child)
        until(
            lambda: set(governors()) == {BEFORE} and not set(processes()) - own,
            f"kill {kill} of {name}: not as it was",
        )
        if (kill + 1) % 10 == 0 or kill + 1 == KILLS:
            print(f"{kill + 1} kills, another governor at {changed} of them: {hit}", flush=True)
    assert changed > KILLS / 4
