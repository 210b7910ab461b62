# SPDX-License-Identifier: BSD-3-Clause
"""Programs of known truth, compiled here, and load of other users beside them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from nodewise.base.errors import InputError

_SOURCE = Path(__file__).with_name("work.c")
_AUTOGROUP = Path("/proc/self/autogroup")

#: What runs beside the programs, by the name of the cell: the words of `work`, once for each processor named, 0 for all.
CELLS: dict[str, tuple[tuple[tuple[str, ...], float], ...]] = {
    "quiet": (),
    "hog on half": ((("hog",), 0.5),),
    "hogs on all": ((("hog",), 1.0),),
    "bursts": ((("burst", "0.3", "1.2"), 1.0),),
    "memory": ((("memory",), 0.5),),
    "short jobs": ((("jobs", "12", "0.015"), 1.0),),
}


def build(folder: Path) -> Path:
    """The program, compiled into `folder`. Raises InputError where there is no C compiler."""
    program = folder / "work"
    try:
        subprocess.run(["cc", "-O2", "-pthread", "-o", program, _SOURCE, "-lm"], check=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        raise InputError(
            f"benchmarks/_busy/work.c cannot be compiled: {problem}", "install a C compiler as cc"
        ) from None
    return program


def calibrate(program: Path, kind: str, seconds: float = 0.03) -> float:
    """How many units of that kind of work take so long; by the fastest of some runs, since others only slow them."""
    runs = [subprocess.run([program, kind, "500"], capture_output=True, text=True, check=True) for _ in range(9)]
    fastest = min(float(run.stdout.split('"seconds": ')[1].split(",")[0]) for run in runs)
    return 500 * seconds / fastest


def _own_weight() -> str:
    """The nice value of this session's autogroup, `0` where there are none."""
    with contextlib.suppress(OSError, IndexError):
        return _AUTOGROUP.read_text().split()[2]
    return "0"


@contextlib.contextmanager
def load(cell: str, program: Path, seed: int = 1) -> Iterator[None]:
    """The load of a cell, each process in a session of its own and as weighty as this one; ended whatever happens."""
    processors = len(os.sched_getaffinity(0))
    started: list[subprocess.Popen[bytes]] = []
    weight = _own_weight()
    try:
        for words, share in CELLS[cell]:
            for _ in range(max(1, round(share * processors))):
                seed += 1
                tail = [str(seed)] if len(words) > 1 else []
                hog = subprocess.Popen([program, *words, *tail], start_new_session=True, stdin=subprocess.DEVNULL)
                started.append(hog)
                # a session is an autogroup of its own, which begins with a nice value of 0
                with contextlib.suppress(OSError):
                    Path(f"/proc/{hog.pid}/autogroup").write_text(weight)
        time.sleep(0.5 if started else 0.0)
        yield
    finally:
        for hog in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(hog.pid, signal.SIGKILL)
            hog.wait()
