# SPDX-License-Identifier: BSD-3-Clause
"""Which points are likely to fail, from what failed so far: a point itself, a value of an axis, or a region of the space.

A failure is blamed on the values of its point that differ from the reference and were in no good run yet; where each of
them was, on all of them together. A program that fails by itself is to blame for its share of them. Around a point that
failed others are the more suspect the nearer they are (kernel regression: E. A. Nadaraya, Theory of Probability and its
Applications 9, 1964).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.search.space import Point

Array = NDArray[np.float64]
#: An axis and its value.
Item = tuple[str, Any]

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
    """Whether `failed` of `runs` are more than the program's own failure rate explains, `reference_failed` of `reference_runs`:
    by the upper tail of the binomial distribution. A setting that only ever failed always does where the program itself
    never failed.
    """
    if not failed:
        return False
    if failed == runs and not reference_failed:
        return True
    rate = (reference_failed + 0.5) / (reference_runs + 1)
    return _as_many(failed, runs, rate) < _RARE


def _as_many(failed: int, runs: int, rate: float) -> float:
    """The chance that `failed` or more of `runs` fail where each does with the chance `rate`."""
    return 1 - sum(math.comb(runs, k) * rate**k * (1 - rate) ** (runs - k) for k in range(failed))


class Failures:
    """Counts of failures and good runs by point and by value; each point has a number of its own."""

    def __init__(self, reference: Mapping[str, Any]):
        """`reference` holds the values that the program runs with as it is."""
        self._reference = dict(reference)
        self._failed: dict[int, int] = {}
        self._good: dict[int, int] = {}
        self._blame: dict[Item, float] = {}
        self._fine: dict[Item, int] = {}
        self._where: list[Array] = []
        self._was: list[float] = []
        self._own = -1
        self._changes: dict[int, frozenset[Item]] = {}
        self._guilty: list[frozenset[Item]] | None = []

    def tell(self, number: int, point: Point, row: Array, failed: bool, is_reference: bool) -> None:
        """What became of a run of the point `number`, whose features are `row`."""
        if is_reference:
            self._own = number
        self._changes[number] = frozenset() if is_reference else frozenset(self._changed(point))
        self._guilty = None if self._failed or failed else []
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

    def _changed(self, point: Point) -> list[Item]:
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

    def is_blamed(self, number: int, point: Point) -> bool:
        """Whether a point fails more often than the program as it is, and so is no answer; or other runs
        show that one of its values does, or two of them together.
        """
        if number == self._own and self.good(number):
            return False
        if self.is_guilty(point):
            return True
        failed, good = self.failed(number), self.good(number)
        return (failed > 0 and not good) or fails_more(
            failed, failed + good, self.failed(self._own), self.failed(self._own) + self.good(self._own)
        )

    def is_guilty(self, point: Point) -> bool:
        """Whether runs with a value of a point, or with two of its values, fail now and then, and others do not."""
        if self._guilty is None:
            self._guilty = self._found_guilty()
        changed = frozenset(self._changed(point)) if self._guilty else frozenset()
        return any(items <= changed for items in self._guilty)

    def _found_guilty(self) -> list[frozenset[Item]]:
        """Values and pairs of values with which runs fail now and then more often than without them; what is sure first, which
        explains its failures to all others.
        """
        left = set(self._changes) - {self._own}
        found: list[frozenset[Item]] = []
        while True:
            # a point that always fails is judged by its own count, values that were in no good run by their blame
            mixed = [self._changes[n] for n in left if self.failed(n) and self.good(n)]
            held = {frozenset(c) for items in mixed for k in (1, 2) for c in itertools.combinations(items, k)}
            judged = [(self._chance(items, left), -len(items), sorted(map(str, items)), items) for items in held]
            chance, _, _, items = min(judged, default=(1.0, 0, [], frozenset()), key=lambda j: j[:3])
            if chance >= _RARE / max(1, len(held)):
                return found
            found.append(items)
            left -= {n for n in left if items <= self._changes[n]}

    def _chance(self, items: frozenset[Item], among: set[int]) -> float:
        """How likely as many of the runs with some values fail if they do as those without them."""
        inside = {n for n in among if items <= self._changes[n]}
        outside = (among | {self._own}) - inside
        rate = (sum(map(self.failed, outside)) + 0.5) / (sum(map(self.runs, outside)) + 1)
        return _as_many(sum(map(self.failed, inside)), sum(map(self.runs, inside)), rate)

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

    def _of_value(self, item: Item) -> float:
        blame, fine = self._blame.get(item, 0.0), self._fine.get(item, 0)
        return 1.0 if blame >= _DROPPED and not fine else blame / (blame + fine + _GOOD_VALUE)
