# SPDX-License-Identifier: BSD-3-Clause
"""Budget: how many seconds and runs a question may cost, and what is left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """At most `seconds` of wall time and at most `runs` runs; None is no limit of that kind."""

    seconds: float | None = 120.0
    runs: int | None = None


class Meter:
    """What was spent of a budget. A run's cost is its wall time and what nodewise itself needs around it."""

    def __init__(self, budget: Budget, clock: Callable[[], float] = time.monotonic):
        self.budget = budget
        self._clock = clock
        self._start = clock()
        self.runs = 0

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    def affordable(self, cost_s: float, share: float = 1.0) -> int:
        """How many runs of `cost_s` seconds each the given share of the whole budget still has; at least none."""
        by_time = math.inf
        if self.budget.seconds is not None:
            by_time = (self.budget.seconds * share - self.seconds) / max(cost_s, 1e-6)
        by_runs = math.inf if self.budget.runs is None else self.budget.runs * share - self.runs
        left = min(by_time, by_runs)
        return 1_000_000 if math.isinf(left) else max(0, int(left))
