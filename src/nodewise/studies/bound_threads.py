# SPDX-License-Identifier: BSD-3-Clause
"""Binding the threads that a library makes for itself, in the process of a contender in Python: as native/worker/bind.h does.

Which threads work is seen in a first run; each is then held to a place of its own.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Sequence
from pathlib import Path

#: The places, one for each thread: `0,4:1,5`.
BIND = "NODEWISE_BIND"
#: A thread works that ran for this share of the time of the one that ran longest; this share of the time may be that of unknown threads.
_WORKS, _UNKNOWN = 0.1, 0.2


def places_asked(text: str) -> list[set[int]]:
    """The places of `BIND`; none where it is empty, or names one place alone, which the mask already is."""
    places = [{int(p) for p in place.split(",")} for place in text.split(":")] if text else []
    return places if len(places) > 1 else []


class Watch:
    """What the threads of this process did from its making on."""

    def __init__(self) -> None:
        self._threads, self._process, self._children = _run_times(), time.process_time(), _of_children()

    def bind(self, places: Sequence[set[int]]) -> int:
        """Hold each thread that worked to a place; how many, none where they were more than places, had ended or were other
        processes'."""
        process = time.process_time() - self._process
        ran = {thread: seconds - self._threads.get(thread, 0.0) for thread, seconds in _run_times().items()}
        most = max(ran.values(), default=0.0)
        working = sorted(thread for thread, seconds in ran.items() if seconds > 0 and seconds >= _WORKS * most)
        others = _of_children() - self._children
        unknown = process + others - sum(ran.values())
        if not working or len(working) > len(places) or unknown > _UNKNOWN * (process + others):
            return 0
        try:
            for thread, place in zip(working, places, strict=False):
                os.sched_setaffinity(thread, place)
        except OSError:
            return 0
        return len(working)


def _run_times() -> dict[int, float]:
    """Seconds that each thread of this process has run, as far as the system says."""
    times = {}
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            times[int(task.name)] = int((task / "schedstat").read_text().split()[0]) * 1e-9
    return times


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
