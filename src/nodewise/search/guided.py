# SPDX-License-Identifier: BSD-3-Clause
"""The search by a model: the runs so far show which settings may be the best, and those run next.

1. A first block: the program as it is, points that promise much, natural points of the crossed axes.
2. The best of them again, and with each value of each further axis, where the runs allow it.
3. Then, block after block, the leader again and challengers drawn by Thompson sampling (W. R. Thompson, Biometrika 25,
   1933) in its top-two form (D. Russo, Operations Research 68, 2020): each is the best setting of one surface that the
   model holds possible, and not the leader; of settings that may fail each surface lacks some. Wide and unknown at
   first, a race between the few best at the end.
4. It ends where no setting is left from which more than a trifle can be expected.

Settings are ranked by the model's posterior mean of all runs, less a share of its deviation: a single lucky run is believed as far
as the noise allows, and counts from the first. Between settings that the model cannot tell apart the one with more natural and default
values leads.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.search.failures import Failures
from nodewise.search.features import Encoder
from nodewise.search.pool import Pool
from nodewise.search.search import AtLeast, Outcome
from nodewise.search.space import AS_STARTED, Point, Space
from nodewise.search.surrogate import Array, Runs, Surrogate
from nodewise.statistics.summary import median

#: Settings that the model is fitted to, and that it judges in one step.
_MOST_FITTED, _MOST_JUDGED, _POOL = 120, 160, 260
_LARGEST_BLOCK = 12
#: The share of the search, and the most runs, that go to points taken at random: the model may be sure and wrong.
_EXPLORE_SHARE, _MOST_EXPLORED = 0.12, 40
#: A value that is surely slower than the leader by this in log time is not run for its own sake.
_HOPELESS = 0.4
#: The program as it is has this share of the runs at least, and up to the other where something fails: what a setting
#: gains, and whether it fails by its own fault, is known no better than this is.
_REFERENCE_SHARE, _FAILING_SHARE = 0.08, 0.2
#: The search ends where less than this fraction of the time can be expected to be gained, twice in a row.
_TRIFLE = 0.0008
#: A gain over the leader that is not worth looking for.
_LET_GO = 0.002
#: A setting is ranked by its expected log time plus so many of its deviations.
_DOUBT = 0.5
#: Where settings are ranked, the chance that a run fails is taken to be no more than this.
_MOST_FAILING = 0.95
#: How often a simpler setting has to run before it is left out for being as good as the leader only perhaps.
_ENOUGH = 3
#: Of two settings whose difference is less than this, or less than so many of its deviations, the simpler one leads.
_TIE, _TIE_DEVIATIONS = 0.005, 1.5
#: Of spaces of more combinations than this not all are tried.
_MOST_COMBINED = 100
#: With fewer runs than this nothing follows the first block, which therefore has more than the program as it is.
_TOO_FEW_TO_SCREEN = 4
#: A value that failed in so many runs, perhaps only together with other values, is not looked at for its own sake again.
_TRIED = 2
#: A retry of what failed once is worth it where so many deviations in its favour would make it the best.
_HOPE = 1.0


class GuidedSearch:
    """Implements `search.Search` for any Space."""

    def __init__(self, space: Space, seed: int = 0, start: Sequence[Point] = (), *, apart: bool = False):
        """`start`: points that run in the first block besides the natural ones. `apart`: the program as it is, is another
        setting than the default point, and both are searched.
        """
        self._space = space
        self._start = list(start)
        self._apart = apart
        self._rng = np.random.default_rng(seed)
        self._random = random.Random(seed)
        self._pooled = Pool(space, self._random)
        #: The point for the program as it is.
        self.reference = Point({**space.default, AS_STARTED: True}) if apart else space.default
        self._encoder = Encoder(space.open, space.features, space.default)
        groups = self._encoder.groups
        self._model = Surrogate([*groups, max(groups, default=-1) + 1] if apart else groups)
        self._failures = Failures(space.default)
        self._points: list[Point] = []
        self._keys: dict[Point, int] = {}
        self._numbers: dict[Hashable, int] = {}
        self._index: dict[int, int] = {}
        self._rows: dict[int, Array] = {}
        self._logs: list[list[tuple[int, float, bool]]] = []
        self._middle: list[float] = []
        self._block = 0
        self._stale = False
        self._first: list[Point] | None = None
        self._screened = False
        self._failed: set[Point] = set()
        self._failed_with: Counter[tuple[str, Any]] = Counter()
        self._size = 0
        self._explore = self._explored = 0
        self._idle = 0
        self._fitted: list[int] = []
        self._order: list[int] = []

    @property
    def ranking(self) -> list[Point]:
        """Points that ran and are to blame for no failure, the best first; the reference is among them."""
        self._judge()
        return [self._points[i] for i in self._order]

    @property
    def noise(self) -> float:
        """The standard deviation of one run's log time, as far as it is known; a guess before the first block."""
        self._judge()
        return self._model.noise

    def gain(self, point: Point, over: Point) -> tuple[float, float]:
        """How much longer `over` takes than `point`, in log time: what the model expects, and its standard deviation.

        Both may be points that never ran. Raises ValueError before anything ran well.
        """
        self._judge()
        if not self._order:
            raise ValueError("nothing ran well yet")
        mean, covariance = self._model.predict(*self._at([point, over]))
        variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
        return float(mean[1] - mean[0]), math.sqrt(max(0.0, float(variance)))

    def ran(self, point: Point) -> bool:
        """Whether a point ran well, under whatever name."""
        return self._runs(point) > 0

    @property
    def blocks(self) -> int:
        """How many blocks there were so far."""
        return self._block

    def pairs(self, point: Point, other: Point, since: int) -> list[float]:
        """How much longer `other` took than `point`, in log time, in each block from number `since` on that both ran in."""
        one, two = self._by_block(point, since), self._by_block(other, since)
        return [two[block] - one[block] for block in sorted(one.keys() & two.keys())]

    def _by_block(self, point: Point, since: int) -> dict[int, float]:
        number = self._index.get(self._key(point))
        return {} if number is None else {block: log for block, log, _ in self._logs[number] if block >= since}

    def failed(self, point: Point) -> bool:
        """Whether a point is to blame for failures."""
        return self._failures.is_blamed(self._key(point), point)

    def entangled(self, point: Point) -> set[str]:
        """Axes whose value at a point ran only together with that of another that it changes: none can say which of them counts."""
        changed = self._space.changed(point)
        ran = {n: {q for q in map(self._plain, self._points) if q[n] == point[n]} for n in changed}
        return {n for n in changed for m in changed if n != m and ran[n] == ran[m]}

    # --- asking

    def ask(self, affordable: int) -> list[Point]:
        """The first block, then the leader and its challengers."""
        self._judge()
        if self._first is None:
            self._plan(affordable)
        if self._first:
            asked, self._first = self._first[: max(0, affordable)], []
            return asked
        if affordable < 2 or self._idle >= 2 or not self._space.open:
            return []
        if self._order and (asked := self._screen(affordable)):
            return asked
        return self._next(min(self._size, affordable))

    def resume(self) -> None:
        """Go on after an end: more was learned."""
        self._idle = 0

    def _plan(self, affordable: int) -> None:
        most = max(2, min(max(6, affordable // 6), affordable // 2))
        start = self._start[: most // 2]
        natural = self._pooled.thin(self._distinct(self._space.crossed()), most - len(start))
        self._first = self._distinct([self.reference, *start, *natural])
        if len(self._first) < 2 and affordable < _TOO_FEW_TO_SCREEN:
            singles = self._pooled.singles(self._space.default) or self._pooled.scattered(self._space.default, 8)
            self._first = self._distinct([self.reference, *singles])[:most]
        self._explore = min(_MOST_EXPLORED, int(_EXPLORE_SHARE * affordable))
        self._size = max(3, min(_LARGEST_BLOCK, affordable // 10))

    def _plain(self, point: Point) -> Point:
        """A point of the space proper: for the reference the default."""
        return self._space.default if point == self.reference else point

    @property
    def untried(self) -> list[tuple[str, Any]]:
        """Values worth a run, as (axis, value), with which nothing was started, nor with what starts alike under another name."""
        ran = [self._plain(p) for p in (*self._points, *self._failed)]

        def had(name: str, value: Any) -> bool:
            return any(p[name] == value for p in ran) or any(
                self._key(p) == self._key(p.having(**{name: value})) for p in ran
            )

        return [(a.name, v) for a in self._space.open for v in a.worth if not had(a.name, v)]

    @property
    def unseen(self) -> list[tuple[str, Any]]:
        """Values of the axes that are not crossed, as (axis, value), that no run has said anything of, most natural first."""
        self._judge()
        if not self._order:
            return []
        leader = self._plain(self._points[self._order[0]])
        seen = {change for p in self._points for change in self._plain(p).items()}
        seen |= {change for change, times in self._failed_with.items() if times >= _TRIED}
        found = []
        for point in self._unknown(self._pooled.singles(leader)):
            (name,) = (n for n in point if point[n] != leader[n])
            if (name, point[name]) not in seen and self._may(point):
                found.append((name, point[name]))
        rank: dict[str, int] = {}
        places = []
        for name, _ in found:
            places.append(rank.setdefault(name, 0))
            rank[name] += 1
        return [found[i] for i in sorted(range(len(found)), key=lambda i: places[i])]

    def untried_pairings(self, most: int) -> list[Point]:
        """Of a small space the combinations of values that never ran, the leader's threads and placement with them; empty where
        they are more than `most`: a gain that two values have only together shows in no other way.
        """
        self._judge()
        if not self._order:
            return []
        leader = self._plain(self._points[self._order[0]])
        left = [p for p in self._unknown(self._pooled.combined(leader, _MOST_COMBINED)) if self._may(p)]
        return left if len(left) <= most else []

    def _screen(self, affordable: int) -> list[Point]:
        """The best so far with each value of each further axis: by itself where the runs allow it, else what no run had yet,
        several values at once; then the combinations of a small space. Empty where all that was seen.
        """
        again = [self._points[i] for i in self._order[: 2 if affordable >= 12 else 1]]
        leader = self._plain(again[0])
        most = max(affordable // 2, affordable - 4)
        if not self._screened:
            self._screened = True
            singles = [p for p in self._unknown(self._pooled.singles(leader)) if self._may(p)]
            if 0 < len(singles) <= most:
                return self._distinct([*again, *singles])[:affordable]
        unseen = self.unseen
        if not unseen:
            return self.untried_pairings(affordable // 2)
        longest = max(Counter(name for name, _ in unseen).values())
        rows = min(max(most, longest), affordable)
        return self._unknown(self._pooled.cover(leader, unseen, rows, self._may))

    def _next(self, size: int) -> list[Point]:
        if not self._order:
            fresh = self._unknown(self._pooled.scattered(self._space.default, 8 * size))
            if len(fresh) < size:
                fresh = self._unknown([*fresh, *self._pooled.every()])
            return fresh[:size]
        leader = self._points[self._order[0]]
        pool = self._pool(leader)
        rows, known = self._at(pool)
        mean, deviation = self._model.guess(rows, known)
        chance = self._failures.chances([self._key(p) for p in pool], pool, rows)
        keep = np.argsort(mean - 2 * deviation + chance, kind="stable")[:_MOST_JUDGED]
        some = [0, *self._random.sample(range(len(pool)), min(8, len(pool)))]
        keep = np.array(list(dict.fromkeys([*keep.tolist(), *some])))
        mean, covariance = self._model.predict(rows[keep], known[keep])
        pool, chance = [pool[i] for i in keep], chance[keep]
        mine = next(i for i, p in enumerate(pool) if p == leader)
        draws = self._draw(mean, covariance, 24 + 8 * size)
        if chance.any():
            chance[mine] = 0.0
            draws = np.where(self._rng.random(draws.shape) < chance, np.inf, draws)
        gain = float(np.maximum(draws[:, mine] - _LET_GO - draws.min(axis=1), 0).mean())
        # the model may be sure and wrong, but of what takes half as long again it has seen more
        surely = mean - 2 * np.sqrt(np.maximum(np.diag(covariance), 0))
        hopeless = (surely > mean[mine] + _HOPELESS) | (chance > 0.5)
        wild = [i for i, p in enumerate(pool) if self._runs(p) == 0 and not hopeless[i]]
        if not wild:
            self._explored = self._explore
        settled = gain < _TRIFLE and self._runs(leader) >= 4
        ended = settled and self._explored >= self._explore
        again = self._retries(leader)[: max(1, size // 4)] if ended else []
        self._idle = self._idle + 1 if ended and not again else 0
        chosen = [mine, *self._simpler(pool, mine, mean, covariance)[: max(1, size // 4)]]
        if (size >= 4 or settled) and self._explored < self._explore:
            wild = [i for i in wild if i not in chosen]
            chosen += self._random.sample(wild, min(1 + size // 6, len(wild)))
            self._explored += 1 + size // 6
        for draw in draws:
            if len(chosen) >= size:
                break
            ranked = [int(i) for i in np.argsort(draw, kind="stable")[:2]]
            choice = ranked[0] if ranked[0] != mine else ranked[1] if len(ranked) > 1 else mine
            if choice not in chosen and math.isfinite(draw[choice]):
                chosen.append(choice)
        return self._distinct([*self._due(), *again, *(pool[i] for i in chosen)])[:size]

    def _due(self) -> list[Point]:
        """The reference, where it has run too seldom to show what others gain."""
        every = sum(map(len, self._logs))
        # where something fails, whether the program does so by itself has to be known first
        wanted = max(2.0, _REFERENCE_SHARE * every, min(2 * self._failures.count, _FAILING_SHARE * every))
        return [self.reference] if self._failures.runs(self._key(self.reference)) < wanted else []

    def _retries(self, leader: Point) -> list[Point]:
        """What failed once and would lead if it ran and did well."""
        numbers = {n: p for p, n in self._keys.items() if self._failures.is_deferred(n)}
        found = []
        for number, point in numbers.items():
            if self._failures.may_retry(number):
                gain, deviation = self.gain(point, leader)
                if gain + _HOPE * deviation > _LET_GO:
                    found.append((gain, point))
        return [p for _, p in sorted(found, key=lambda item: -item[0])]

    def _simpler(self, pool: Sequence[Point], mine: int, mean: Array, covariance: Array) -> list[int]:
        """Those of the pool that are the leader with fewer changes, may be as good, and have not run often enough to be distinguished from it."""
        leader, found = pool[mine], []
        entangled = self.entangled(self._plain(leader))
        for i, point in enumerate(pool):
            changed = [a.name for a in self._space.open if point[a.name] != leader[a.name]]
            if len(changed) != 1 or self._oddity(point) >= self._oddity(leader) or self._runs(point) >= _ENOUGH:
                continue
            apart = float(np.sqrt(max(0.0, covariance[i, i] + covariance[mine, mine] - 2 * covariance[i, mine])))
            if mean[i] - mean[mine] < min(2 * _TIE, _TIE_DEVIATIONS * apart) or changed[0] in entangled:
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
        plain = self._plain(leader)
        near = self._pooled.near([self._plain(p) for p in best[:3]])
        wild = [*self._pooled.scattered(plain, 30), *self._combined(plain, near)]
        points = [leader, *best, *wild, *self._pooled.natural(plain), *near]
        return self._distinct(p for p in points if p == leader or self._may(p))[:_POOL]

    def _combined(self, leader: Point, near: Sequence[Point]) -> list[Point]:
        """The changes of single axes that the model likes, made together."""
        single = [p for p in self._distinct(near) if self._may(p)]
        if len(self._space.open) < 3 or not single:
            return []
        mean, deviation = self._model.guess(*self._at([leader, *single]))
        found = []
        for optimism in (0.0, 1.0):
            score = mean - optimism * deviation
            changes = {}
            for i in np.argsort(score[1:], kind="stable"):
                point = single[int(i)]
                names = [n for n in leader if point[n] != leader[n]]
                if len(names) == 1 and names[0] not in changes and score[1 + i] < score[0]:
                    changes[names[0]] = point[names[0]]
                    found.append(leader.having(**changes))
        return found

    def _may(self, point: Point) -> bool:
        """Whether a point is to be looked at: allowed, not one that only ever failed by its own fault, nor one of values that do."""
        if point == self.reference:
            return True
        if not self._space.allowed(point) or self._failures.is_guilty(point):
            return False
        return not self._failures.is_deferred(self._key(point))

    def _unknown(self, points: Iterable[Point]) -> list[Point]:
        return [
            p
            for p in self._distinct(points)
            if self._key(p) not in self._index and not self._failures.failed(self._key(p))
        ]

    def _key(self, point: Point) -> int:
        """A small number for each setting; identities can be long."""
        if point not in self._keys:
            identity = AS_STARTED if AS_STARTED in point else self._space.identity(point)
            self._keys[point] = self._numbers.setdefault(identity, len(self._numbers))
        return self._keys[point]

    def _distinct(self, points: Iterable[Point]) -> list[Point]:
        """The first allowed point of each setting."""
        first: dict[int, Point] = {}
        for point in points:
            if point == self.reference or self._space.allowed(point):
                first.setdefault(self._key(point), point)
        return list(first.values())

    def _row(self, point: Point) -> Array:
        key = self._key(point)
        if key not in self._rows:
            row = self._encoder.row(self._plain(point))
            self._rows[key] = np.append(row, float(AS_STARTED in point)) if self._apart else row
        return self._rows[key]

    def _at(self, points: Sequence[Point]) -> tuple[Array, NDArray[np.int64]]:
        """The features of points, and for each the row that the model was fitted to, or -1."""
        position = {number: i for i, number in enumerate(self._fitted)}
        known = [position.get(self._index.get(self._key(p), -1), -1) for p in points]
        return np.stack([self._row(p) for p in points]), np.array(known)

    # --- outcomes

    def tell(self, outcomes: Mapping[Point, Outcome]) -> None:
        """Learn from a block."""
        for point, outcome in outcomes.items():
            key = self._key(point)
            self._failures.tell(key, point, self._row(point), outcome is None, point == self.reference)
            if outcome is None:
                self._failed.add(point)
                self._failed_with.update(self._plain(point).items())
                continue
            if key not in self._index:
                self._index[key] = len(self._points)
                self._points.append(point)
                self._logs.append([])
                self._middle.append(0.0)
            number = self._index[key]
            cut = isinstance(outcome, AtLeast)
            seconds = outcome.seconds if isinstance(outcome, AtLeast) else outcome
            self._logs[number].append((self._block, math.log(seconds), cut))
            self._middle[number] = median([log for _, log, _ in self._logs[number]])
        self._block += 1
        self._stale = True

    def _judge(self) -> None:
        """Fit the model and order what ran, where there are new outcomes."""
        if not self._stale:
            return
        self._stale = False
        alive = [i for i, p in enumerate(self._points) if not self.failed(p)]
        if not any(not cut for i in alive for _, _, cut in self._logs[i]):
            self._order = []
            return
        alive.sort(key=lambda i: (self._middle[i], i))
        self._fitted = alive[:_MOST_FITTED]
        rows = np.stack([self._row(self._points[i]) for i in self._fitted])
        logs = [(row, *log) for row, i in enumerate(self._fitted) for log in self._logs[i]]
        blocks = {b: k for k, b in enumerate(sorted({b for _, b, _, _ in logs}))}
        runs = Runs(
            np.array([row for row, _, _, _ in logs]),
            np.array([blocks[b] for _, b, _, _ in logs]),
            np.array([log for _, _, log, _ in logs]),
            np.array([cut for _, _, _, cut in logs]),
        )
        self._model.fit(rows, runs)
        mean, covariance = self._model.predict(rows, np.arange(len(rows)))
        self._order = self._ordered(mean, covariance)

    def _ordered(self, mean: Array, covariance: Array) -> list[int]:
        """The settings fitted, the best first; of those that cannot be distinguished from it the simplest leads."""
        variance = np.diag(covariance)
        score = mean + _DOUBT * np.sqrt(np.maximum(variance, 0))
        # of what fails now and then a good run takes as many tries
        points = [self._points[i] for i in self._fitted]
        chance = self._failures.chances(
            [self._key(p) for p in points], points, np.stack([self._row(p) for p in points])
        )
        score -= np.log1p(-np.minimum(chance, _MOST_FAILING))
        # what was only ever cut off is known by a bound, and leads nothing
        only_cut = np.array([all(cut for _, _, cut in self._logs[i]) for i in self._fitted])
        score = np.where(only_cut, score + 10.0, score)
        best = int(np.argmin(score))
        apart = np.sqrt(np.maximum(variance + variance[best] - 2 * covariance[best], 0))
        near = (score - score[best] < np.minimum(_TIE, _TIE_DEVIATIONS * apart)) | (np.arange(len(mean)) == best)
        tied = [int(i) for i in np.flatnonzero(near)]
        tied.sort(key=lambda i: (self._oddity(self._points[self._fitted[i]]), score[i]))
        rest = [int(i) for i in np.argsort(score, kind="stable") if int(i) != tied[0]]
        return [self._fitted[i] for i in [tied[0], *rest]]

    def _oddity(self, point: Point) -> int:
        """How many values are neither natural nor default, and how many are not the default, the first counting more."""
        odd = 0 if AS_STARTED in point or not self._apart else 1
        for axis in self._space.open:
            value = point[axis.name]
            odd += 0 if value == axis.default else 1 if value in axis.natural else len(self._space.open) + 1
        return odd
