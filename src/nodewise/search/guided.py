# SPDX-License-Identifier: BSD-3-Clause
"""The search by a model: the runs so far show which settings may be the best, and those run next.

1. A first block: the program as it is, points that promise much, natural points of the crossed axes.
2. The best of them again, and with each value of each further axis, where the runs allow it; else many values in each run.
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
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nodewise.search.failures import Failures
from nodewise.search.outcome import AtLeast, Outcome
from nodewise.search.outlook import HOPELESS, Outlook
from nodewise.search.pairings import Pairings
from nodewise.search.pool import Pool, in_turn
from nodewise.search.prior import Beliefs, Expectations, Prior
from nodewise.search.ranking import TIE, TIE_DEVIATIONS, ranked
from nodewise.search.space import Point, Space
from nodewise.search.surrogate import Array, Surrogate, drawn
from nodewise.search.tried import Run, Tried, reference_of

#: Settings that the model is fitted to, and that it judges in one step.
_MOST_FITTED, _MOST_JUDGED, _POOL = 120, 160, 260
_LARGEST_BLOCK = 12
#: The share of the search, and the most runs, that go to points that the model does not ask for: it may be sure and wrong.
_EXPLORE_SHARE, _MOST_EXPLORED = 0.12, 40
#: The same of those with values that never ran together.
_PAIR_SHARE, _MOST_PAIRED = 0.25, 80
#: The program as it is has this share of the runs at least, and up to the other where something fails: what a setting
#: gains, and whether it fails by its own fault, is known no better than this is.
_REFERENCE_SHARE, _FAILING_SHARE = 0.08, 0.2
#: The search ends where less than this fraction of the time, or of the noise, can be expected to be gained, twice in a row.
_TRIFLE, _TRIFLE_OF_NOISE = 0.0008, 0.015
#: A gain over the leader that is not worth looking for.
_LET_GO = 0.002
#: A gain that some more of the search is worth, and so many points that promise one run beside the pairs.
_CLEARLY, _MOST_HOPED = 0.02, 2
#: How often a simpler setting has to run before it is left out for being as good as the leader only perhaps.
_ENOUGH = 3
#: Of spaces of more combinations than this not all are tried.
_MOST_COMBINED = 100
#: The share of the runs that the first look at all values may take.
_SCREENED_SHARE = 0.65
#: With fewer runs than this nothing follows the first block, which therefore has more than the program as it is.
_TOO_FEW_TO_SCREEN = 4
#: A value that failed in so many runs, perhaps only together with other values, is not looked at for its own sake again.
_TRIED = 2
#: A retry of what failed once is worth it where so many deviations in its favour would make it the best.
_HOPE = 1.0
#: So many points that earlier searches expect the most of are in the first block.
_MOST_LED = 3


class GuidedSearch:
    """Implements `search.Search` for any Space."""

    def __init__(
        self,
        space: Space,
        seed: int = 0,
        start: Sequence[Point] = (),
        *,
        apart: bool = False,
        earlier: Sequence[Prior] = (),
    ):
        """`start`: points that run in the first block besides the natural ones. `apart`: the program as it is, is another
        setting than the default point, and both are searched. `earlier`: what other searches saw of the space's points.
        """
        self._space = space
        self._start = list(start)
        self._apart = apart
        self._rng = np.random.default_rng(seed)
        self._random = random.Random(seed)
        self._pooled = Pool(space, self._random)
        self._pairings = Pairings(space, self._random)
        self._crossed = any(a.crossed for a in space.open)
        #: The point for the program as it is.
        self.reference = reference_of(space, apart)
        self._tried = Tried(space, apart)
        self._expected = Expectations(earlier, self._tried, space.default)
        self._model: Surrogate | Beliefs = Surrogate(self._tried.groups)
        if self._expected:
            self._model = Beliefs(self._tried.groups, self._expected.given)
            self._tried.expected = self._expected.of
        self._failures = Failures(space.default)
        self._outlook = Outlook(space, self._pooled, self._tried, self._failures, self._model, self.reference)
        self._block = 0
        self._stale = False
        self._first: list[Point] | None = None
        self._screened = self._paired = False
        self._failed: set[Point] = set()
        self._failed_with: Counter[tuple[str, Any]] = Counter()
        self._size = 0
        #: How many runs the first look at the values may still have in which many values meet.
        self._rows = 0
        self._explore = self._pair = self._explored = 0
        self._idle = 0
        self._order: list[int] = []

    @property
    def ranking(self) -> list[Point]:
        """Points that ran to an end and are to blame for no failure, the best first; the reference is among them."""
        self._judge()
        return [self._tried.points[i] for i in self._order]

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
        mean, covariance = self._model.predict(*self._outlook.at([point, over]))
        variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
        return float(mean[1] - mean[0]), math.sqrt(max(0.0, float(variance)))

    @property
    def trusts_earlier(self) -> bool:
        """Whether earlier searches lead this one: there are some, and its runs do not refute them."""
        self._judge()
        return isinstance(self._model, Beliefs) and self._model.trusted

    @property
    def refutes_earlier(self) -> bool:
        """Whether its runs speak clearly against what earlier searches saw."""
        self._judge()
        return isinstance(self._model, Beliefs) and self._model.refuted

    def ran(self, point: Point) -> bool:
        """Whether a point ran well, under whatever name."""
        return self._tried.runs(point) > 0

    @property
    def size(self) -> int:
        """How many points a block has, once the first one is planned."""
        return self._size

    @property
    def blocks(self) -> int:
        """How many blocks there were so far."""
        return self._block

    def pairs(self, point: Point, other: Point, since: int) -> list[float]:
        """How much longer `other` took than `point`, in log time, in each block from number `since` on that both ran in."""
        one, two = self._tried.by_block(point, since), self._tried.by_block(other, since)
        return [two[block] - one[block] for block in sorted(one.keys() & two.keys())]

    def failed(self, point: Point) -> bool:
        """Whether a point is to blame for failures."""
        return self._failures.is_blamed(self._tried.key(point), point)

    def entangled(self, point: Point) -> set[str]:
        """Axes whose value at a point ran only together with that of another that it changes: none can say which of them counts."""
        changed = self._space.changed(point)
        ran = {n: {q for q in map(self._tried.plain, self._tried.points) if q[n] == point[n]} for n in changed}
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
        if self._expected:
            known = self._tried.distinct([*self._expected.favourites, *self._pooled.natural(self._space.default)])
            start += [p for p in self._expected.best(known, _MOST_LED) if p not in start]
            most = max(len(start) + 1, most // 2)
        natural = self._pooled.thin(self._tried.distinct(self._space.crossed()), most - len(start))
        self._first = self._tried.distinct([self.reference, *start, *natural])
        if len(self._first) < 2 and affordable < _TOO_FEW_TO_SCREEN:
            singles = self._pooled.singles(self._space.default) or self._pooled.scattered(self._space.default, 8)
            self._first = self._tried.distinct([self.reference, *singles])[:most]
        self._explore = min(_MOST_EXPLORED, int(_EXPLORE_SHARE * affordable))
        self._pair = min(_MOST_PAIRED, int(_PAIR_SHARE * affordable))
        self._size = max(3, min(_LARGEST_BLOCK, affordable // 10))

    @property
    def untried(self) -> list[tuple[str, Any]]:
        """Values worth a run, as (axis, value), with which nothing was started, nor with what starts alike under another name."""
        worth = [(a.name, v) for a in self._space.open for v in a.worth]
        return self._tried.without(worth, [*self._tried.points, *self._failed])

    @property
    def _leader(self) -> Point:
        """The leader as plain values; for where something is ranked."""
        return self._tried.plain(self._tried.points[self._order[0]])

    @property
    def promises(self) -> bool:
        """Whether changes that were good one by one are expected to be clearly better together, and never ran so."""
        self._judge()
        return bool(self._order) and bool(self._outlook.hoped(self._leader, 1, _CLEARLY))

    @property
    def unseen(self) -> list[tuple[str, Any]]:
        """Values of the axes that are not crossed, as (axis, value), that no run has said anything of, most natural first."""
        self._judge()
        if not self._order:
            return []
        leader = self._leader
        seen = {change for p in self._tried.points for change in self._tried.plain(p).items()}
        seen |= {change for change, times in self._failed_with.items() if times >= _TRIED}
        seen |= self._outlook.hopeless_values(leader, surely=True) if self.trusts_earlier else set()
        found = []
        for point in self._outlook.unknown(self._pooled.singles(leader)):
            (name,) = (n for n in point if point[n] != leader[n])
            if (name, point[name]) not in seen and self._outlook.may(point):
                found.append((name, point[name]))
        return in_turn(found)

    @property
    def paired(self) -> bool:
        """Whether values that never ran together had their runs, or there are none of them."""
        return self._paired or self.trusts_earlier or self._pairings.unseen() == 0

    def untried_pairings(self, most: int) -> list[Point]:
        """Of a small space the combinations of values that never ran, the leader's threads and placement with them: a gain that two
        values have only together shows in no other way. Without those of values that make the leader surely much slower, where
        all would take longer than `most` usual runs; empty where the others do.
        """
        self._judge()
        if not self._order:
            return []
        leader = self._leader
        ran = [self._tried.points[i] for i in self._order if self._tried.ended(i)]
        left = [p for p in self._outlook.unknown(self._pooled.combined(leader, _MOST_COMBINED)) if self._outlook.may(p)]
        if self._outlook.taken_by(left, ran) > most:
            bad = self._outlook.hopeless_values(leader, surely=True)
            left = [p for p in left if bad.isdisjoint(self._tried.plain(p).items())]
        return left if self._outlook.taken_by(left, ran) <= most else []

    def _screen(self, affordable: int) -> list[Point]:
        """The best so far with each value of each further axis: by itself where the runs allow it, else what no run had yet,
        several values at once; then the combinations of a small space, or of a large one pairs of values that never ran
        together. Empty where all that was seen.
        """
        again = [self._tried.points[i] for i in self._order[: 2 if affordable >= 12 else 1]]
        leader = self._tried.plain(again[0])
        most = max(affordable // 2, affordable - 4)
        if not self._screened:
            self._screened = True
            singles = self._outlook.unknown(self._pooled.singles(leader))
            if 0 < len(singles) <= most and not self.trusts_earlier:
                few = bool(self._pooled.combined(leader, most))
                if few or len(singles) + self._pairings.least <= most * _SCREENED_SHARE:
                    return self._tried.distinct([*again, *singles])[:affordable]
                # one by one they would take the runs in which values meet: what two gain only together would be left
                self._rows = int(most * _SCREENED_SHARE)
        if self._rows > 0:
            size = min(self._rows, max(self._size, self._rows // 3))
            many = self._pair_up(leader, size, self._outlook.hopeless_values(leader))
            self._rows = self._rows - len(many) if many else 0
            if many:
                return self._tried.distinct([*again, *many])[:affordable]
        unseen = self.unseen
        if not unseen:
            together = self.untried_pairings(affordable // 2)
            if not together and not self.paired:
                self._paired = True
                together = self._pair_up(
                    leader, min(self._pair, affordable // 2), self._outlook.hopeless_values(leader)
                )
                together += self._outlook.hoped(leader, _MOST_HOPED, _LET_GO)
            return self._tried.distinct([*again, *together])[:affordable] if together else []
        longest = max(Counter(name for name, _ in unseen).values())
        # what earlier searches say of values tells them apart where several are in one run
        rows = min(2 * longest if self.trusts_earlier else max(most, longest), affordable)
        return self._outlook.unknown(self._pooled.cover(leader, unseen, rows, self._outlook.may))

    def _next(self, size: int) -> list[Point]:
        if not self._order:
            fresh = self._outlook.unknown(self._pooled.scattered(self._space.default, 8 * size))
            if len(fresh) < size:
                fresh = self._outlook.unknown([*fresh, *self._pooled.every()])
            return fresh[:size]
        leader = self._tried.points[self._order[0]]
        stripped = self._outlook.stripped(self._tried.plain(leader))
        # what is bad by itself is hardly good with others, of which the model saw nothing; with other threads it may be
        bad = set() if self._crossed else self._outlook.hopeless_values(self._tried.plain(leader), surely=True)
        pool = [p for p in self._pool(leader, stripped) if p == leader or bad.isdisjoint(self._tried.plain(p).items())]
        rows, known = self._outlook.at(pool)
        mean, deviation = self._model.guess(rows, known)
        chance = self._failures.chances([self._tried.key(p) for p in pool], pool, rows)
        keep = np.argsort(mean - 2 * deviation + chance, kind="stable")[:_MOST_JUDGED]
        some = [*range(1 + len(stripped)), *self._random.sample(range(len(pool)), min(8, len(pool)))]
        some = [i for i in some if i < len(pool)]
        keep = np.array(list(dict.fromkeys([*keep.tolist(), *some])))
        mean, covariance = self._model.predict(rows[keep], known[keep])
        pool, chance = [pool[i] for i in keep], chance[keep]
        mine = next(i for i, p in enumerate(pool) if p == leader)
        draws = drawn(mean, covariance, 24 + 8 * size, self._rng)
        if chance.any():
            chance[mine] = 0.0
            draws = np.where(self._rng.random(draws.shape) < chance, np.inf, draws)
        gain = float(np.maximum(draws[:, mine] - _LET_GO - draws.min(axis=1), 0).mean())
        # the model may be sure and wrong, but of what takes half as long again it has seen more
        surely = mean - 2 * np.sqrt(np.maximum(np.diag(covariance), 0))
        hopeless = (surely > mean[mine] + HOPELESS) | (chance > 0.5)
        settled = gain < max(_TRIFLE, _TRIFLE_OF_NOISE * self.noise) and self._tried.runs(leader) >= 4
        chosen = [mine, *self._simpler(pool, mine, mean, covariance, stripped)[: max(1, size // 4)]]
        wild = [i for i, p in enumerate(pool) if self._tried.runs(p) == 0 and not hopeless[i] and i not in chosen]
        strange = self._strange([pool[i] for i in wild], leader, 1 + size // 6, settled) if size >= 4 or settled else []
        again = self._retries(leader)[: max(1, size // 4)] if settled and not strange else []
        self._idle = self._idle + 1 if settled and not strange and not again else 0
        for draw in draws:
            if len(chosen) + len(strange) >= size:
                break
            ranked = [int(i) for i in np.argsort(draw, kind="stable")[:2]]
            choice = ranked[0] if ranked[0] != mine else ranked[1] if len(ranked) > 1 else mine
            if choice not in chosen and math.isfinite(draw[choice]):
                chosen.append(choice)
        return self._tried.distinct([*self._due(), *again, pool[mine], *strange, *(pool[i] for i in chosen)])[:size]

    def _strange(self, wild: Sequence[Point], leader: Point, count: int, settled: bool) -> list[Point]:
        """Points that the model does not ask for: values that never ran together, and some of `wild` at random."""
        plain = self._tried.plain(leader)
        hopeless = self._outlook.hopeless_values(plain)
        wild = [p for p in wild if self._crossed or hopeless.isdisjoint(self._tried.plain(p).items())]
        found: list[Point] = []
        while len(found) < count and self._explored < (self._pair if settled else self._explore):
            # every other one where there are crossed axes, in which nothing is paired
            turn = self._explored % 2 == 0 or not self._crossed or settled or not wild
            if turn and (paired := self._pair_up(plain, 1, hopeless)):
                found += paired
            elif wild and self._explored < self._explore:
                found.append(self._random.choice(wild))
            else:
                break
            self._explored += 1
        return found

    def _pair_up(self, leader: Point, count: int, hopeless: set[tuple[str, Any]]) -> list[Point]:
        """At most so many points with values that never ran together, otherwise as the leader."""
        return self._pairings.points(count, leader, hopeless, self._outlook.may)

    def _due(self) -> list[Point]:
        """The reference, where it has run too seldom to show what others gain."""
        every = sum(map(len, self._tried.runs_of))
        # where something fails, whether the program does so by itself has to be known first
        wanted = max(2.0, _REFERENCE_SHARE * every, min(2 * self._failures.count, _FAILING_SHARE * every))
        return [self.reference] if self._failures.runs(self._tried.key(self.reference)) < wanted else []

    def _retries(self, leader: Point) -> list[Point]:
        """What failed once and would lead if it ran and did well."""
        numbers = {n: p for p, n in self._tried.keys.items() if self._failures.is_deferred(n)}
        found = []
        for number, point in numbers.items():
            if self._failures.may_retry(number):
                gain, deviation = self.gain(point, leader)
                if gain + _HOPE * deviation > _LET_GO:
                    found.append((gain, point))
        return [p for _, p in sorted(found, key=lambda item: -item[0])]

    def _simpler(
        self, pool: Sequence[Point], mine: int, mean: Array, covariance: Array, stripped: Sequence[Point]
    ) -> list[int]:
        """Those of the pool that are the leader with one change less, or are `stripped`, may be as good as it, and have not run
        often enough to be distinguished from it.
        """
        leader, found = pool[mine], []
        entangled = self.entangled(self._tried.plain(leader))
        for i, point in enumerate(pool):
            changed = [a.name for a in self._space.open if point[a.name] != leader[a.name]]
            if self._tried.oddity(point) >= self._tried.oddity(leader) or self._tried.runs(point) >= _ENOUGH:
                continue
            apart = float(np.sqrt(max(0.0, covariance[i, i] + covariance[mine, mine] - 2 * covariance[i, mine])))
            if point in stripped:
                # what costs the most to find out one by one: as good as it may be, by the model's doubt
                found += [i] if mean[i] - mean[mine] < TIE_DEVIATIONS * apart else []
            elif len(changed) == 1 and (
                mean[i] - mean[mine] < min(2 * TIE, TIE_DEVIATIONS * apart) or changed[0] in entangled
            ):
                found.append(i)
        return sorted(found, key=lambda i: (pool[i] not in stripped, mean[i]))

    # --- which points there are to choose from

    def _pool(self, leader: Point, stripped: Sequence[Point]) -> list[Point]:
        """Points worth judging, the leader first: it with fewer changes, the best known, their neighbours, natural ones, some at random."""
        best = [self._tried.points[i] for i in self._order[:40]]
        plain = self._tried.plain(leader)
        near = self._pooled.near([self._tried.plain(p) for p in best[:3]])
        wild = [*self._pooled.scattered(plain, 30), *self._outlook.combined(plain, near)]
        points = [leader, *stripped, *best, *wild, *self._pooled.natural(plain), *near]
        return self._tried.distinct(p for p in points if p == leader or self._outlook.may(p))[:_POOL]

    # --- outcomes

    def tell(self, outcomes: Mapping[Point, Outcome]) -> None:
        """Learn from a block."""
        for point, outcome in outcomes.items():
            key = self._tried.key(point)
            self._pairings.see(self._tried.plain(point))
            self._failures.tell(key, point, self._tried.row(point), outcome is None, point == self.reference)
            if outcome is None:
                self._failed.add(point)
                self._failed_with.update(self._tried.plain(point).items())
                continue
            cut = isinstance(outcome, AtLeast)
            seconds = outcome.seconds if isinstance(outcome, AtLeast) else outcome
            self._tried.add(point, Run(self._block, math.log(seconds), cut))
        self._block += 1
        self._stale = True

    def _judge(self) -> None:
        """Fit the model and order what ran, where there are new outcomes."""
        if not self._stale:
            return
        self._stale = False
        alive = [i for i, p in enumerate(self._tried.points) if not self.failed(p)]
        if not any(map(self._tried.ended, alive)):
            self._order = []
            return
        alive.sort(key=lambda i: (not self._tried.ended(i), self._tried.middle[i], i))
        self._outlook.fitted = alive[:_MOST_FITTED]
        rows, runs = self._tried.measured(self._outlook.fitted)
        self._model.fit(rows, runs)
        mean, covariance = self._model.predict(rows, np.arange(len(rows)))
        self._order = self._ordered(mean, covariance)

    def _ordered(self, mean: Array, covariance: Array) -> list[int]:
        """The settings fitted, the best first; of those that cannot be distinguished from it the simplest leads."""
        points = [self._tried.points[i] for i in self._outlook.fitted]
        rows = np.stack([self._tried.row(p) for p in points])
        failing = self._failures.chances([self._tried.key(p) for p in points], points, rows)
        ended = np.array([self._tried.ended(i) for i in self._outlook.fitted])
        order = ranked(mean, covariance, failing, ended, [self._tried.oddity(p) for p in points])
        return [self._outlook.fitted[i] for i in order]
