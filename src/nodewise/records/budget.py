# SPDX-License-Identifier: BSD-3-Clause
"""Budget: how many seconds and runs a question may cost, and what is left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nodewise.base.frozen import dataclass


@dataclass(frozen=True)
class Budget:
    """At most `seconds` of wall time and at most `runs` runs; None is no limit of that kind."""

    seconds: float | None = 120.0
    runs: int | None = None


class Meter:
    """What was spent of a budget. A run's cost is its wall time and what nodewise itself needs around it.

    It stands still between runs, so that whatever is decided from it can be decided again from the recorded runs.
    """

    def __init__(self, budget: Budget, clock: Callable[[], float] = time.monotonic, spent_s: float = 0.0):
        """`spent_s` were spent before the first run already, by starting up."""
        self.budget = budget
        self._clock = clock
        self._start: float | None = clock() - spent_s
        self.seconds = 0.0
        self.runs = 0

    def count(self, recorded_s: float | None = None) -> None:
        """A run has ended: now, or in an earlier process when `recorded_s` seconds were spent."""
        self.runs += 1
        if recorded_s is not None:
            self.seconds = recorded_s
            self._start = None
        else:
            self.seconds = self._clock() - self.resume()

    def resume(self) -> float:
        """When the time spent began to count, in the clock's seconds; after recorded runs it goes on from theirs."""
        if self._start is None:
            self._start = self._clock() - self.seconds
        return self._start

    def left_s(self, budget: Budget) -> float:
        """The seconds that are left of a budget as of now, between runs, too: for what is to be stopped in time."""
        return math.inf if budget.seconds is None else budget.seconds - (self._clock() - self.resume())

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """What happens meanwhile costs nothing: waiting for a quiet machine."""
        begin = self._clock()
        yield
        if self._start is not None:
            self._start += self._clock() - begin

    def affordable(self, cost_s: float) -> int:
        """How many runs of `cost_s` seconds each the budget still has; at least none."""
        by_time = math.inf
        if self.budget.seconds is not None:
            by_time = (self.budget.seconds - self.seconds) / max(cost_s, 1e-6)
        by_runs = math.inf if self.budget.runs is None else self.budget.runs - self.runs
        left = min(by_time, by_runs)
        return 1_000_000 if math.isinf(left) else max(0, int(left))
