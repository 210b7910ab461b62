# SPDX-License-Identifier: BSD-3-Clause
"""Outlook: what a search's model expects of points that are not all known yet, and which of them may run at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.search.failures import Failures
from nodewise.search.pool import Pool, together
from nodewise.search.prior import Beliefs
from nodewise.search.space import Point, Space
from nodewise.search.surrogate import Array, Surrogate
from nodewise.search.tried import Tried

#: A value that is surely slower than the leader by this in log time is not run for its own sake.
HOPELESS = 0.4


class Outlook:
    """Of one search. `fitted` are the rows of `tried` that the model is fitted to, as its caller keeps them."""

    def __init__(
        self, space: Space, pooled: Pool, tried: Tried, failures: Failures, model: Surrogate | Beliefs, reference: Point
    ):
        self._space = space
        self._pooled = pooled
        self._tried = tried
        self._failures = failures
        self._model = model
        self._reference = reference
        self.fitted: list[int] = []

    def may(self, point: Point) -> bool:
        """Whether a point is to be looked at: allowed, not one that only ever failed by its own fault, nor one of values that do."""
        if point == self._reference:
            return True
        if not self._space.allowed(point) or self._failures.is_guilty(point):
            return False
        return not self._failures.is_deferred(self._tried.key(point))

    def unknown(self, points: Iterable[Point]) -> list[Point]:
        """Those that neither ran nor failed, each once."""
        return [
            p
            for p in self._tried.distinct(points)
            if not self._tried.runs(p) and not self._failures.failed(self._tried.key(p))
        ]

    def at(self, points: Sequence[Point]) -> tuple[Array, NDArray[np.int64]]:
        """The features of points, and for each the row that the model was fitted to, or -1."""
        position = {number: i for i, number in enumerate(self.fitted)}
        known = [position.get(self._tried.number(p), -1) for p in points]
        return np.stack([self._tried.row(p) for p in points]), np.array(known)

    def taken_by(self, points: Sequence[Point], ran: Sequence[Point]) -> float:
        """How many usual runs one of each point is expected to take, of which none takes less than one; `ran` are those that ran well."""
        if not points:
            return 0.0
        mean, _ = self._model.guess(*self.at([*ran, *points]))
        usual = np.median(np.repeat(mean[: len(ran)], [self._tried.runs(p) for p in ran]))
        return float(np.exp(np.maximum(mean[len(ran) :] - usual, 0.0)).sum())

    def hopeless_values(self, leader: Point, surely: bool = False) -> set[tuple[str, Any]]:
        """Values of the further axes that make the leader much slower, as far as the model knows or `surely`, or fail."""
        singles = [p for p in self._tried.distinct(self._pooled.singles(leader)) if p != leader]
        if not singles:
            return set()
        mean, deviation = self._model.guess(*self.at([leader, *singles]))
        slower = mean[1:] - (1 + surely) * deviation[1:] > mean[0] + HOPELESS * (1 + surely) / 2
        bad = [p for p, slow in zip(singles, slower, strict=True) if slow or (not surely and not self.may(p))]
        return {next((n, p[n]) for n in p if p[n] != leader[n]) for p in bad}

    def stripped(self, leader: Point) -> list[Point]:
        """The leader with those of its changes of further axes alone that the model holds the most of: one, two, half of them."""
        changed = [a.name for a in self._space.open if not a.crossed and leader[a.name] != a.default]
        if len(changed) < 3:
            return []
        without = [leader.having(**{n: self._space.default[n]}) for n in changed]
        mean, _ = self._model.guess(*self.at([leader, *without]))
        worth = dict(zip(changed, mean[1:], strict=True))
        most = sorted(changed, key=lambda n: -worth[n])
        counts = sorted({1, 2, (len(changed) + 1) // 2})
        points = [leader.having(**{n: self._space.default[n] for n in most[k:]}) for k in counts]
        return [p for p in self._tried.distinct(points) if self.may(p) and p != leader]

    def combined(self, leader: Point, near: Sequence[Point]) -> list[Point]:
        """The changes of single axes that the model likes, made together."""
        single = [p for p in self._tried.distinct(near) if self.may(p)]
        if len(self._space.open) < 3 or not single:
            return []
        mean, deviation = self._model.guess(*self.at([leader, *single]))
        return [p for optimism in (0.0, 1.0) for p in together(leader, single, (mean - optimism * deviation).tolist())]

    def hoped(self, leader: Point, most: int, gain: float) -> list[Point]:
        """At most so many points that never ran, of which the model expects at least such a gain over the leader (in log time), the best first."""
        new = [p for p in self.unknown(self.combined(leader, self._pooled.near([leader]))) if self.may(p)]
        if not new:
            return []
        mean, _ = self._model.guess(*self.at([leader, *new]))
        best = np.argsort(mean[1:], kind="stable")[:most]
        return [new[i] for i in best if mean[0] - mean[1 + i] > gain]
