# SPDX-License-Identifier: BSD-3-Clause
"""The points of a search: their numbers and features, and the runs of those that ran."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nodewise.search.features import Encoder
from nodewise.search.space import AS_STARTED, Point, Space
from nodewise.search.surrogate import Array, Runs
from nodewise.statistics.summary import median


class Run(NamedTuple):
    """A run in a block: its log seconds, or where it was `cut` off a bound below them."""

    block: int
    log: float
    cut: bool


def reference_of(space: Space, apart: bool) -> Point:
    """The point for the program as it is; `apart`: it is another setting than the default point."""
    return Point({**space.default, AS_STARTED: True}) if apart else space.default


class Tried:
    """Points by the setting that they are: two names of one setting are one point.

    `points` are those that ran, in the order of their first runs; `runs_of[i]` are the runs of `points[i]` and `middle[i]`
    the median of their log seconds. `groups` are those of the features' columns.
    """

    def __init__(self, space: Space, apart: bool):
        self._space = space
        self._apart = apart
        self._reference = reference_of(space, apart)
        self._encoder = Encoder(space.open, space.features, space.default)
        groups = self._encoder.groups
        self.groups = [*groups, max(groups, default=-1) + 1] if apart else groups
        self.points: list[Point] = []
        self.runs_of: list[list[Run]] = []
        self.middle: list[float] = []
        #: The number of each point that was asked for.
        self.keys: dict[Point, int] = {}
        self._numbers: dict[Hashable, int] = {}
        self._index: dict[int, int] = {}
        self._rows: dict[int, Array] = {}
        #: What is expected of a point besides: columns of its row behind its features.
        self.expected: Callable[[Point], Array] | None = None

    def add(self, point: Point, run: Run) -> None:
        """A point ran."""
        key = self.key(point)
        if key not in self._index:
            self._index[key] = len(self.points)
            self.points.append(point)
            self.runs_of.append([])
            self.middle.append(0.0)
        number = self._index[key]
        self.runs_of[number].append(run)
        self.middle[number] = median([one.log for one in self.runs_of[number]])

    def number(self, point: Point) -> int:
        """Where a point is in `points`; -1 where it did not run."""
        return self._index.get(self.key(point), -1)

    def runs(self, point: Point) -> int:
        """How many runs a point had."""
        number = self.number(point)
        return 0 if number < 0 else len(self.runs_of[number])

    def ended(self, number: int) -> bool:
        """Whether some run of `points[number]` came to its end, and was not cut off."""
        return any(not run.cut for run in self.runs_of[number])

    def by_block(self, point: Point, since: int) -> dict[int, float]:
        """The log seconds of a point's runs in the blocks from number `since` on."""
        number = self.number(point)
        return {} if number < 0 else {run.block: run.log for run in self.runs_of[number] if run.block >= since}

    def plain(self, point: Point) -> Point:
        """A point of the space proper: for the reference the default."""
        return self._space.default if point == self._reference else point

    def key(self, point: Point) -> int:
        """A small number for each setting; identities can be long."""
        known = self.keys.get(point)
        if known is None:
            identity = AS_STARTED if AS_STARTED in point else self._space.identity(point)
            known = self.keys[point] = self._numbers.setdefault(identity, len(self._numbers))
        return known

    def distinct(self, points: Iterable[Point]) -> list[Point]:
        """The first allowed point of each setting."""
        first: dict[int, Point] = {}
        for point in points:
            if point == self._reference or self._space.allowed(point):
                first.setdefault(self.key(point), point)
        return list(first.values())

    def features(self, point: Point) -> Array:
        """The features of a point."""
        row = self._encoder.row(self.plain(point))
        return np.append(row, float(AS_STARTED in point)) if self._apart else row

    def row(self, point: Point) -> Array:
        """The features of a point, and what is expected of it."""
        key = self.key(point)
        if key not in self._rows:
            row = self.features(point)
            self._rows[key] = row if self.expected is None else np.concatenate([row, self.expected(point)])
        return self._rows[key]

    def without(self, changes: Iterable[tuple[str, Any]], points: Iterable[Point]) -> list[tuple[str, Any]]:
        """Those values, as (axis, value), that none of the points has, nor a setting that is the same with it."""
        ran = [self.plain(p) for p in points]

        def had(name: str, value: Any) -> bool:
            return any(p[name] == value or self.key(p) == self.key(p.having(**{name: value})) for p in ran)

        return [(name, value) for name, value in changes if not had(name, value)]

    def measured(self, numbers: Sequence[int]) -> tuple[Array, Runs]:
        """The rows of points by their numbers, and their runs, for a model."""
        rows = np.stack([self.row(self.points[i]) for i in numbers])
        logs = [(row, *log) for row, i in enumerate(numbers) for log in self.runs_of[i]]
        blocks = {b: k for k, b in enumerate(sorted({b for _, b, _, _ in logs}))}
        return rows, Runs(
            np.array([row for row, _, _, _ in logs]),
            np.array([blocks[b] for _, b, _, _ in logs]),
            np.array([log for _, _, log, _ in logs]),
            np.array([cut for _, _, _, cut in logs]),
        )

    def oddity(self, point: Point) -> int:
        """How many values are neither natural nor default, and how many are not the default, the first counting more."""
        odd = 0 if AS_STARTED in point or not self._apart else 1
        for axis in self._space.open:
            value = point[axis.name]
            odd += 0 if value == axis.default else 1 if value in axis.natural else len(self._space.open) + 1
        return odd
