# SPDX-License-Identifier: BSD-3-Clause
"""What outlived a runner and its guard that were both killed: found by the run's variable, and ended."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.runner.proc_files import read_environment, read_stat

#: Counts the runs of an experiment, for programs that want to vary with it (an input, a seed); what a run started bears it.
RUN_VARIABLE = "NODEWISE_RUN"
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
#: What is ended may have started others meanwhile.
_ROUNDS, _PAUSE_S = 50, 0.01


def now_s() -> float:
    """Seconds since the system was booted, by which it dates processes."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def end_outlived(number: str, since_s: float) -> list[str]:
    """End what bears the run's number, began at `since_s` or later and has no living runner above it; the names of what was found.

    What has cleared its environment is not found. Never raises.
    """
    found: dict[int, str] = {}
    for _ in range(_ROUNDS):
        left = _find(number, since_s)
        if not left:
            break
        found |= left
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE_S)
    return list(found.values())


def _find(number: str, since_s: float) -> dict[int, str]:
    """The processes of a run that are still there, with their names."""
    parents, names, young = {}, {}, []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with suppress(OSError, InputError):
            text = (folder / "stat").read_text(errors="replace")
            stat = read_stat(text)
            parents[stat.pid], names[stat.pid] = stat.parent, stat.name
            begun_s = int(text[text.rfind(")") + 1 :].split()[19]) * _TICK_S
            if begun_s >= since_s - _TICK_S:
                young.append(stat.pid)
    return {pid: names[pid] for pid in young if _bears(pid, number) and not _is_below_runner(pid, parents, names)}


def _bears(pid: int, number: str) -> bool:
    with suppress(OSError):
        return read_environment(Path(f"/proc/{pid}/environ").read_bytes()).get(RUN_VARIABLE) == number
    return False


def _is_below_runner(pid: int, parents: Mapping[int, int], names: Mapping[int, str]) -> bool:
    """Whether a process belongs to a run that goes on, of another nodewise: that one looks after it."""
    seen: set[int] = set()
    while pid in parents and pid not in seen:
        seen.add(pid)
        if names[pid].startswith("nodewise-"):
            return True
        pid = parents[pid]
    return False
