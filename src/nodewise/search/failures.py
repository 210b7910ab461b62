# SPDX-License-Identifier: BSD-3-Clause
"""Which points are likely to fail, from what failed so far: a point itself, a value of an axis, or a region of the space.

A failure is blamed on the values of its point that differ from the reference and were in no good run yet; where each of
them was, on all of them together. A program that fails by itself is to blame for its share of them. Around a point that
failed others are the more suspect the nearer they are (kernel regression: E. A. Nadaraya, Theory of Probability and its
Applications 9, 1964).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.search.space import Point

Array = NDArray[np.float64]

#: The share of settings that cannot run at all, before any was tried.
_BROKEN = 0.1
#: So many runs without a failure are taken for granted of a value, and of a region.
_GOOD_VALUE, _GOOD_REGION = 0.5, 0.5
#: A value on which so much is blamed, and which was in no good run, is left alone.
_DROPPED = 1.5
#: A failure rate above the program's own is believed where chance gives as many failures less often than this.
_RARE = 0.05
#: How often a point that has only ever failed may be tried.
MOST_TRIES = 2


def fails_more(failed: int, runs: int, reference_failed: int, reference_runs: int) -> bool:
    """Whether `failed` of `runs` are more than the program's own rate explains, which `reference_failed` of
    `reference_runs` tell: by the upper tail of the binomial distribution. A setting that only ever failed does where the
    program itself never did.
    """
    if not failed:
        return False
    if failed == runs and not reference_failed:
        return True
    rate = (reference_failed + 0.5) / (reference_runs + 1)
    below = sum(math.comb(runs, k) * rate**k * (1 - rate) ** (runs - k) for k in range(failed))
    return 1 - below < _RARE


class Failures:
    """Counts of failures and good runs by point and by value; points are told by a number of their own."""

    def __init__(self, reference: Mapping[str, Any]):
        """`reference` holds the values that the program runs with as it is."""
        self._reference = dict(reference)
        self._failed: dict[int, int] = {}
        self._good: dict[int, int] = {}
        self._blame: dict[tuple[str, Any], float] = {}
        self._fine: dict[tuple[str, Any], int] = {}
        self._where: list[Array] = []
        self._was: list[float] = []
        self._own = -1

    def tell(self, number: int, point: Point, row: Array, failed: bool, is_reference: bool) -> None:
        """What became of a run of the point `number`, whose features are `row`."""
        if is_reference:
            self._own = number
        counts = self._failed if failed else self._good
        counts[number] = counts.get(number, 0) + 1
        weight = 0.0
        if failed:
            weight = _BROKEN / (_BROKEN + (1 - _BROKEN) * self.rate)
            suspects = self._changed(point)
            fresh = [item for item in suspects if not self._fine.get(item)]
            for item in fresh or suspects:
                self._blame[item] = self._blame.get(item, 0.0) + weight / len(fresh or suspects)
        else:
            for item in point.items():
                self._fine[item] = self._fine.get(item, 0) + 1
        self._where.append(row)
        self._was.append(weight)

    def _changed(self, point: Point) -> list[tuple[str, Any]]:
        return [(k, v) for k, v in point.items() if self._reference.get(k) != v]

    def failed(self, number: int) -> int:
        """How many runs of a point failed."""
        return self._failed.get(number, 0)

    def good(self, number: int) -> int:
        """How many runs of a point ended well."""
        return self._good.get(number, 0)

    def runs(self, number: int) -> int:
        """How many runs of a point there were."""
        return self.failed(number) + self.good(number)

    @property
    def count(self) -> int:
        """How many runs failed."""
        return sum(self._failed.values())

    @property
    def rate(self) -> float:
        """How often the program fails by itself: 0 while it never did as it is, else over all that also ran well."""
        if not self.failed(self._own):
            return 0.0
        ran = [n for n in self._good if self.good(n)] or [self._own]
        failed = sum(self.failed(n) for n in ran)
        return failed / (failed + sum(self.good(n) for n in ran))

    def is_blamed(self, number: int) -> bool:
        """Whether a point fails more often than the program as it is, and so is no answer."""
        if number == self._own and self.good(number):
            return False
        failed, good = self.failed(number), self.good(number)
        return (failed > 0 and not good) or fails_more(
            failed, failed + good, self.failed(self._own), self.failed(self._own) + self.good(self._own)
        )

    def is_deferred(self, number: int) -> bool:
        """Whether a point only ever failed, while the program as it is never did: for when nothing else promises more."""
        return self.failed(number) > 0 and not self.good(number) and not self.failed(self._own)

    def may_retry(self, number: int) -> bool:
        """Whether a deferred point may have another run at all."""
        return self.failed(number) < MOST_TRIES

    def chances(self, numbers: Sequence[int], points: Iterable[Point], rows: Array) -> Array:
        """How likely the next run of each point is to fail, m; `rows` are their features, m × d."""
        if not self._failed:
            return np.zeros(len(numbers))
        where = np.stack(self._where)
        squares = ((rows[:, None, :] - where[None, :, :]) ** 2).sum(-1)
        near = np.exp(-squares / 2)
        region = near @ np.array(self._was) / (near.sum(1) + _GOOD_REGION)
        found = []
        for number, point, around in zip(numbers, points, region, strict=True):
            failed, good = self.failed(number), self.good(number)
            if good:
                found.append((failed + 2 * self.rate) / (failed + good + 2) if failed else self.rate)
                continue
            values = max((self._of_value(item) for item in self._changed(point)), default=0.0)
            own = _BROKEN / (_BROKEN + (1 - _BROKEN) * self.rate**failed) if failed else 0.0
            found.append(max(values, float(around), own))
        return np.array(found)

    def _of_value(self, item: tuple[str, Any]) -> float:
        blame, fine = self._blame.get(item, 0.0), self._fine.get(item, 0)
        return 1.0 if blame >= _DROPPED and not fine else blame / (blame + fine + _GOOD_VALUE)
