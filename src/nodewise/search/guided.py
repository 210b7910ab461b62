# SPDX-License-Identifier: BSD-3-Clause
"""The search by a model: what was run says which settings may be the best, and those are run next.

1. A first block of natural points of the crossed axes: whole cores, each placement.
2. The best of them with each value of each further axis, where the runs allow it.
3. Then, block after block, the leader again and challengers drawn by Thompson sampling (W. R. Thompson, Biometrika 25,
   1933) in its top-two form (D. Russo, Operations Research 68, 2020): each is the best setting of one surface that the
   model holds possible, and not the leader. Wide and unknown at first, a race between the few best at the end.
4. It ends where no setting is left from which more than a trifle can be expected.

A setting leads by what the model makes of all its runs, so a lone lucky one is believed little; between settings that the
model cannot tell apart the one with more natural and default values leads.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nodewise.search.features import Encoder
from nodewise.search.space import Axis, Point, Space
from nodewise.search.surrogate import Array, Runs, Surrogate
from nodewise.statistics.summary import median

#: Settings that the model is fitted to, and that it judges in one step.
_MOST_FITTED, _MOST_JUDGED, _POOL = 120, 160, 260
_LARGEST_BLOCK = 12
#: So many points of the space are gone through one by one where all that ran failed.
_EVERY = 4096
#: So much of the search, and so many runs at most, go to points taken at random: the model may be sure and wrong.
_EXPLORE_SHARE, _MOST_EXPLORED = 0.12, 40
#: The search ends where less than this fraction of the time can be expected to be gained, twice in a row.
_TRIFLE = 0.0008
#: What is not worth looking for: so much may the best be better than the one that leads.
_LET_GO = 0.002
#: How often a setting has to run before it can lead, where any did.
_ENOUGH = 3
#: Of two settings whose difference is less than this, or less than so many of its deviations, the simpler one leads.
_TIE, _TIE_DEVIATIONS = 0.005, 1.5


#: Of more natural values than this so many are looked at in one step.
_MOST_NATURAL = 40


class GuidedSearch:
    """Implements `search.Search` for any Space."""

    def __init__(self, space: Space, seed: int = 0, start: Sequence[Point] = ()):
        """`start`: points that run in the first block besides the natural ones."""
        self._space = space
        self._start = list(start)
        self._rng = np.random.default_rng(seed)
        self._random = random.Random(seed)
        self._encoder = Encoder(space.open, space.features, space.default)
        self._model = Surrogate(self._encoder.groups)
        self._points: list[Point] = []
        self._keys: dict[Point, int] = {}
        self._numbers: dict[Hashable, int] = {}
        self._index: dict[int, int] = {}
        self._rows: dict[int, Array] = {}
        self._logs: list[list[tuple[int, float]]] = []
        self._middle: list[float] = []
        self._failed: set[int] = set()
        self._tried: Counter[tuple[str, Any]] = Counter()
        self._broken: Counter[tuple[str, Any]] = Counter()
        self._asked: list[Point] = []
        self._block = 0
        self._first: list[Point] | None = None
        self._size = 0
        self._screened: list[Point] | None = None
        self._explore = self._explored = 0
        self._idle = 0
        self._fitted: list[int] = []
        self._order: list[int] = []
        self._crossed: list[Point] = []

    @property
    def ranking(self) -> list[Point]:
        """Points that ran and never failed, the best first."""
        return [self._points[i] for i in self._order]

    @property
    def noise(self) -> float:
        """The standard deviation of one run's log time, as far as it is known; 1 % before the first block."""
        return self._model.noise

    # --- asking

    def ask(self, affordable: int) -> list[Point]:
        """The first block, then the leader and its challengers."""
        if self._first is None:
            self._plan(affordable)
        assert self._first is not None
        if self._first:
            self._asked, self._first = self._first[: max(0, affordable)], []
        elif affordable < 2 or self._idle >= 2 or not self._space.open:
            self._asked = []
        elif self._screened is None and self._order:
            self._asked = self._screen(affordable)
        else:
            self._asked = self._next(min(self._size, affordable))
        return self._asked

    def _plan(self, affordable: int) -> None:
        most = max(2, min(max(6, affordable // 6), affordable // 2))
        start = self._start[: most // 2]
        natural = self._thin(self._distinct(self._space.crossed()), most - len(start))
        self._first = self._distinct([*start, *natural])
        self._explore = min(_MOST_EXPLORED, int(_EXPLORE_SHARE * affordable))
        self._size = max(3, min(_LARGEST_BLOCK, affordable // 10))

    def _thin(self, points: list[Point], most: int) -> list[Point]:
        """At most `most` points, evenly over the list's order of importance (natural values come with the best first)."""
        if len(points) <= most:
            return points
        rank = {a.name: {value: i for i, value in enumerate(a.natural)} for a in self._space.open if a.crossed}
        return sorted(points, key=lambda p: sum(order.get(p[name], len(order)) for name, order in rank.items()))[:most]

    def _screen(self, affordable: int) -> list[Point]:
        """The best so far with each value of each further axis; where those are too many, the model has to choose."""
        leader = self._points[self._order[0]]
        further = [a for a in self._space.open if not a.crossed]
        single = [leader.having(**{a.name: v}) for a in further for v in (a.natural if a.ordered else a.values)]
        self._screened = [p for p in self._unknown(single) if self._may(p)]
        if not 0 < len(self._screened) <= affordable // 3:
            return self._next(min(self._size, affordable)) if self._idle < 2 else []
        return [leader, *self._screened]

    def _next(self, size: int) -> list[Point]:
        if not self._order:
            fresh = self._unknown(self._scatter(self._space.default, 8 * size))
            if len(fresh) < size:
                every = itertools.product(*(a.values for a in self._space.open))
                names = [a.name for a in self._space.open]
                points = (Point(dict(zip(names, values, strict=True))) for values in itertools.islice(every, _EVERY))
                fresh = self._unknown([*fresh, *points])
            return fresh[:size]
        leader = self._points[self._order[0]]
        pool = self._pool(leader)
        rows = np.stack([self._row(p) for p in pool])
        position = {number: i for i, number in enumerate(self._fitted)}
        known = np.array([position.get(self._index.get(self._key(p), -1), -1) for p in pool])
        mean, deviation = self._model.guess(rows, known)
        keep = np.argsort(mean - 2 * deviation, kind="stable")[:_MOST_JUDGED]
        some = [0, *self._random.sample(range(len(pool)), min(8, len(pool)))]
        keep = np.array(list(dict.fromkeys([*keep.tolist(), *some])))
        mean, covariance = self._model.predict(rows[keep], known[keep])
        pool = [pool[i] for i in keep]
        mine = next(i for i, p in enumerate(pool) if p == leader)
        draws = self._draw(mean, covariance, 24 + 8 * size)
        gain = float(np.maximum(draws[:, mine] - _LET_GO - draws.min(axis=1), 0).mean())
        runs = len(self._logs[self._order[0]])
        self._idle = self._idle + 1 if gain < _TRIFLE and runs >= 4 and self._explored >= self._explore else 0
        chosen = [mine, *self._simpler(pool, mine, mean, covariance)[: max(1, size // 4)]]
        if size >= 4 and self._explored < self._explore:
            wild = [i for i, p in enumerate(pool) if self._runs(p) == 0 and i not in chosen]
            chosen += self._random.sample(wild, min(1 + size // 6, len(wild)))
            self._explored += 1 + size // 6
        for draw in draws:
            if len(chosen) >= size:
                break
            ranked = [int(i) for i in np.argsort(draw, kind="stable")[:2]]
            choice = ranked[0] if ranked[0] != mine else ranked[1] if len(ranked) > 1 else mine
            if choice not in chosen:
                chosen.append(choice)
        return [pool[i] for i in chosen[:size]]

    def _simpler(self, pool: Sequence[Point], mine: int, mean: Array, covariance: Array) -> list[int]:
        """Those of the pool that are the leader with fewer changes, may be as good, and have not run often enough to tell."""
        leader, found = pool[mine], []
        for i, point in enumerate(pool):
            changed = [a.name for a in self._space.open if point[a.name] != leader[a.name]]
            if len(changed) != 1 or self._oddity(point) >= self._oddity(leader) or self._runs(point) >= _ENOUGH:
                continue
            apart = float(np.sqrt(max(0.0, covariance[i, i] + covariance[mine, mine] - 2 * covariance[i, mine])))
            if mean[i] - mean[mine] < min(2 * _TIE, _TIE_DEVIATIONS * apart):
                found.append(i)
        return sorted(found, key=lambda i: mean[i])

    def _runs(self, point: Point) -> int:
        number = self._index.get(self._key(point))
        return 0 if number is None else len(self._logs[number])

    def _draw(self, mean: Array, covariance: Array, count: int) -> Array:
        """`count` surfaces that the model holds possible, a row each."""
        lift = 1e-9
        while True:
            try:
                root = np.linalg.cholesky(covariance + lift * np.eye(len(mean)))
                break
            except np.linalg.LinAlgError:
                lift *= 100
        drawn: Array = mean + self._rng.standard_normal((count, len(mean))) @ root.T
        return drawn

    # --- which points there are to choose from

    def _pool(self, leader: Point) -> list[Point]:
        """Points worth judging, the leader first: the best known, their neighbours, natural ones, some at random."""
        best = [self._points[i] for i in self._order[:40]]
        near: list[Point] = []
        for rank, point in enumerate(best[:3]):
            for axis in self._space.open:
                near += [point.having(**{axis.name: v}) for v in self._steps(axis, point[axis.name], rank)]
        natural = [
            p.having(**{a.name: leader[a.name] for a in self._space.open if not a.crossed})
            for p in self._space_crossed()
        ]
        wild = [*self._scatter(leader, 30), *self._combined(leader, near)]
        self._random.shuffle(near)
        pool = self._distinct(p for p in [leader, *best, *wild, *natural, *near] if self._may(p))
        return pool[:_POOL]

    def _space_crossed(self) -> list[Point]:
        if not self._crossed:
            self._crossed = self._thin(self._space.crossed(), 120)
        return self._crossed

    def _steps(self, axis: Axis, here: Any, rank: int) -> list[Any]:
        """Other values of an axis: all of a short one, of a long ordered one the near and the natural."""
        others = [v for v in axis.values if v != here]
        if len(others) <= 12:
            return others
        if not axis.ordered:
            return self._random.sample(others, 12)
        at = axis.values.index(here)
        steps = {at + sign * 2**k for k in range(len(axis.values).bit_length()) for sign in (-1, 1)}
        values = [axis.values[i] for i in sorted(steps) if 0 <= i < len(axis.values)]
        natural = [v for v in axis.natural if v != here] if rank == 0 else []
        if len(natural) > _MOST_NATURAL:
            # where every value is as natural as the others, that says nothing
            natural = self._random.sample(natural, _MOST_NATURAL)
        return [*values, *natural]

    def _scatter(self, centre: Point, count: int) -> list[Point]:
        """Points that differ from the centre in some axes, each number of axes alike."""
        axes = self._space.open
        found = []
        for _ in range(count):
            changed = self._random.sample(axes, self._random.randint(1, len(axes)))
            values = {}
            for a in changed:
                from_natural = a.ordered and self._random.random() < 0.5
                values[a.name] = self._random.choice(a.natural if from_natural else a.values)
            found.append(centre.having(**values))
        return found

    def _combined(self, leader: Point, near: Sequence[Point]) -> list[Point]:
        """The changes of single axes that the model likes, made together."""
        single = [p for p in self._distinct(near) if self._may(p)]
        if len(self._space.open) < 3 or not single:
            return []
        rows = np.stack([self._row(p) for p in [leader, *single]])
        mean, deviation = self._model.guess(rows, np.full(len(rows), -1))
        found = []
        for optimism in (0.0, 1.0):
            score = mean - optimism * deviation
            changes: dict[str, Any] = {}
            for i in np.argsort(score[1:], kind="stable"):
                point = single[int(i)]
                names = [n for n in leader if point[n] != leader[n]]
                if len(names) == 1 and names[0] not in changes and score[1 + i] < score[0]:
                    changes[names[0]] = point[names[0]]
                    found.append(leader.having(**changes))
        return found

    def _may(self, point: Point) -> bool:
        """Whether a point can be run: allowed, never failed, and without a value that mostly fails."""
        if not self._space.allowed(point) or self._key(point) in self._failed:
            return False
        return all(self._broken[item] < 2 or self._broken[item] < 0.7 * self._tried[item] for item in point.items())

    def _unknown(self, points: Iterable[Point]) -> list[Point]:
        return [
            p for p in self._distinct(points) if self._key(p) not in self._index and self._key(p) not in self._failed
        ]

    def _key(self, point: Point) -> int:
        """A small number for each setting; identities can be long."""
        if point not in self._keys:
            self._keys[point] = self._numbers.setdefault(self._space.identity(point), len(self._numbers))
        return self._keys[point]

    def _distinct(self, points: Iterable[Point]) -> list[Point]:
        """The first allowed point of each setting."""
        first: dict[int, Point] = {}
        for point in points:
            if self._space.allowed(point):
                first.setdefault(self._key(point), point)
        return list(first.values())

    def _row(self, point: Point) -> Array:
        key = self._key(point)
        if key not in self._rows:
            self._rows[key] = self._encoder.row(point)
        return self._rows[key]

    # --- being told

    def tell(self, times: Mapping[Point, float | None]) -> None:
        """Learn from a block."""
        for point in self._asked:
            seconds = times.get(point)
            key = self._key(point)
            self._tried.update(point.items())
            if seconds is None:
                self._failed.add(key)
                self._broken.update(point.items())
                continue
            if key not in self._index:
                self._index[key] = len(self._points)
                self._points.append(point)
                self._logs.append([])
                self._middle.append(0.0)
            number = self._index[key]
            self._logs[number].append((self._block, math.log(seconds)))
            self._middle[number] = median([log for _, log in self._logs[number]])
        self._block += 1
        self._judge()

    def _judge(self) -> None:
        """Fit the model and order what ran."""
        alive = [i for i, p in enumerate(self._points) if self._key(p) not in self._failed]
        if not alive:
            self._order = []
            return
        alive.sort(key=lambda i: (self._middle[i], i))
        self._fitted = alive[:_MOST_FITTED]
        rows = np.stack([self._row(self._points[i]) for i in self._fitted])
        told = [(row, block, log) for row, i in enumerate(self._fitted) for block, log in self._logs[i]]
        blocks = {b: k for k, b in enumerate(sorted({b for _, b, _ in told}))}
        runs = Runs(
            np.array([row for row, _, _ in told]),
            np.array([blocks[b] for _, b, _ in told]),
            np.array([log for _, _, log in told]),
        )
        self._model.fit(rows, runs)
        mean, covariance = self._model.predict(rows, np.arange(len(rows)))
        self._order = self._ordered(mean, covariance)

    def _ordered(self, mean: Array, covariance: Array) -> list[int]:
        """The settings fitted, the best first; of those that cannot be told apart from it the simplest leads."""
        count = np.array([len(self._logs[i]) for i in self._fitted])
        enough = min(_ENOUGH, int(count.max()))
        # one lucky run does not lead while others have shown more
        score = np.where(count >= enough, mean, mean + 1.0)
        best = int(np.argmin(score))
        variance = np.diag(covariance)
        apart = np.sqrt(np.maximum(variance + variance[best] - 2 * covariance[best], 0))
        near = (score - score[best] < np.minimum(_TIE, _TIE_DEVIATIONS * apart)) | (np.arange(len(mean)) == best)
        tied = [int(i) for i in np.flatnonzero(near)]
        tied.sort(key=lambda i: (self._oddity(self._points[self._fitted[i]]), score[i]))
        rest = [int(i) for i in np.argsort(score, kind="stable") if int(i) != tied[0]]
        return [self._fitted[i] for i in [tied[0], *rest]]

    def _oddity(self, point: Point) -> int:
        """How many values are neither natural nor default, and how many are not the default, the first counting more."""
        odd = 0
        for axis in self._space.open:
            value = point[axis.name]
            odd += 0 if value == axis.default else 1 if value in axis.natural else len(self._space.open) + 1
        return odd
