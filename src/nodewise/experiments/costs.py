# SPDX-License-Identifier: BSD-3-Clause
"""Costs: what the runs of a tune took of its budget, and how fast they were, as far as it has come."""

from __future__ import annotations

from nodewise.runner.sample import Sample
from nodewise.runner.setting import BASELINE
from nodewise.statistics.summary import Running, median


class Costs:
    """Seconds by setting. What was cut off is no usual cost, and what failed none of the search's.

    `times` are what is compared, of runs that ended well; `slowest_baseline_s` is the longest run of the baseline.
    """

    def __init__(self) -> None:
        self.times: dict[str, Running] = {}
        self.slowest_baseline_s = 0.0
        self._costs: dict[str, list[float]] = {}
        self._searched: list[float] = []

    def take(self, key: str, sample: Sample, cost_s: float, searching: bool) -> None:
        """Take a run of a setting: what came of it, and what it took of the budget."""
        if not sample.cut_off:
            self._costs.setdefault(key, []).append(cost_s)
            if key == BASELINE:
                self.slowest_baseline_s = max(self.slowest_baseline_s, cost_s)
        if sample.ok:
            self.times.setdefault(key, Running()).add(sample.seconds)
            if searching:
                self._searched.append(cost_s)

    @property
    def first_s(self) -> float:
        """What the first run took. Raises KeyError where it did not end."""
        return self._costs[BASELINE][0]

    @property
    def baseline_s(self) -> float:
        """What a run of the baseline takes."""
        return median(self._costs[BASELINE])

    @property
    def typical_s(self) -> float:
        """What a run of the search takes."""
        return median(self._searched or self._costs[BASELINE])

    def pair_s(self, key: str | None) -> float:
        """What a run of the baseline and one of a setting take together."""
        return self.baseline_s + median(self._costs.get(key or BASELINE) or self._costs[BASELINE])
