# SPDX-License-Identifier: BSD-3-Clause
"""Rests: short looks at the machine between two runs, after one that others' load disturbed.

A service on the same machine (a database, say) works for a program whenever that runs, and rests when it does not; another
user's work mostly goes on. Which of the two it may be, `statistics.disturbance` says by these looks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from nodewise.machine.quiet_wait import Activity, read_activity
from nodewise.runner.marks import OTHER_LOAD
from nodewise.runner.sample import Sample

#: How long a look takes, in seconds; all of them may take so long, and this share of the runs' time besides.
_LOOK_S, _FIRST_S, _SHARE = 0.25, 1.0, 0.1


class Rests:
    """Decides before each run whether to look, by the runs so far."""

    def __init__(
        self,
        root: Path = Path("/"),
        read: Callable[[Iterable[int], Path], Activity] = read_activity,
        sleep: Callable[[float], None] = time.sleep,
    ):
        """`read` gives the totals of some processors below `root`, `sleep` passes the time."""
        self._root = root
        self._read = read
        self._sleep = sleep
        self._loud = False
        self._ran_s = self._looked_s = 0.0

    def before(self, processors: Iterable[int]) -> dict[str, float]:
        """What the processors did while nothing ran: `rest_s` and `rest_busy_s` in seconds; nothing where there was no look."""
        if not self._loud or self._looked_s + _LOOK_S > _FIRST_S + _SHARE * self._ran_s:
            return {}
        wanted = tuple(processors)
        begin = self._read(wanted, self._root)
        self._sleep(_LOOK_S)
        end = self._read(wanted, self._root)
        self._looked_s += _LOOK_S
        return {"rest_s": end.at_s - begin.at_s, "rest_busy_s": end.busy_s - begin.busy_s}

    def after(self, sample: Sample) -> None:
        """Take what a run met."""
        self._ran_s += sample.wall_s
        self._loud = any(mark.partition(":")[0] == OTHER_LOAD for mark in sample.marks)
