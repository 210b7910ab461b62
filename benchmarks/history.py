# SPDX-License-Identifier: BSD-3-Clause
"""A history of 100 000 experiments: how long it takes to fill, and until a trend is there."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from nodewise.base.units import format_bytes, format_seconds
from nodewise.history.entry import Entry, point_of
from nodewise.history.store import Store
from nodewise.history.trend import trends_of
from nodewise.records.commit import Commit

EXPERIMENTS, PROGRAMS = 100_000, 200
#: Of all experiments this share is of one program.
_SHARE = 0.2
_RUNS = 10


def entries() -> Iterator[Entry]:
    """Experiments over three years on four machines; of each program one change."""
    draw = random.Random(1)
    for number in range(EXPERIMENTS):
        program = 0 if draw.random() < _SHARE else draw.randrange(1, PROGRAMS)
        level = 1 + program / 100 + 0.1 * (number > EXPERIMENTS * (0.3 + program / PROGRAMS / 2))
        values = [level * draw.gauss(1, 0.02) for _ in range(_RUNS)]
        point = point_of(values, f"app{program}", f"./app{program} --size {program}")
        assert point is not None
        commit = Commit(f"{number // 20:040x}", False, "main", "project")
        where = {"host": f"node{draw.randrange(4)}", "processor": "a processor", "conditions": {"kernel": "6.1"}}
        yield Entry(f"{number}", "run", 1.7e9 + 950 * number, (point,), project="project", commit=commit, **where)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.sqlite"
        began = time.perf_counter()
        with Store(str(path)) as store:
            store.add(entries())
        print(f"filling with {EXPERIMENTS} experiments   {format_seconds(time.perf_counter() - began)}")
        print(f"size of the file                      {format_bytes(path.stat().st_size)}")
        with Store(str(path), make=False) as store:
            for what, program in (("a trend of 20 000 experiments", "app0"), ("trends of 2000 experiments", "app7")):
                began = time.perf_counter()
                found = trends_of(store, program)
                spent = time.perf_counter() - began
                marks = sum(len(t.marks) for t in found.trends)
                count = sum(len(t.points) for t in found.trends)
                print(
                    f"{what:37} {format_seconds(spent)} ({count} points on {len(found.trends)} machines, {marks} marks)"
                )
        for what, words in (
            ("the same as a whole process", ("app0",)),
            ("those of 2000, a whole process", ("app7",)),
            ("all programs, a whole process", ()),
            ("a page of 20 000, a whole process", ("app0", "--html", str(Path(folder) / "page.html"))),
        ):
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "nodewise", "history", "--store", str(path), *words],
                check=True,
                stdout=subprocess.DEVNULL,
                env=dict(os.environ),
            )
            print(f"{what:37} {format_seconds(time.perf_counter() - began)}")


if __name__ == "__main__":
    main()
