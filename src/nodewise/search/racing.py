# SPDX-License-Identifier: BSD-3-Clause
"""The search by races: a wide first one over the natural values, then narrow ones around its winner.

1. Screening: the natural values of the crossed axes (whole cores, each placement) race; who is surely worse is dropped
   after every block.
2. Each other axis in turn: the winner against itself with another value.
3. Refinement of the ordered axes: the winner against values between the natural ones, in halving steps. A value that is
   not natural has to be clearly better to win, so the answer does not wander to 182 threads where 183 fill the cores.
4. A play-off: where refinement found another winner, it has to beat the natural one clearly once more, on fresh runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodewise.search.space import Axis, Point, Space
from nodewise.statistics.race import Race, pool_noise
from nodewise.statistics.summary import median

#: How many standard errors better a challenger of a later race must be: one that is a step aside of the natural value has
#: many brothers and wins by luck; one with another value of a further axis has few, and the confirmation will tell.
_CLEARLY, _LIKELY = 2.5, 1.5
#: Blocks of the last race, between the natural winner and a refined one.
_PLAY_OFF = 12


@dataclass
class _Heat:
    """A race that is going on: who is still in it, and what each took. Nobody is dropped before `fewest` blocks."""

    arms: list[Point]
    fewest: int
    most: int
    times: dict[Point, list[float]]
    ahead: float = _CLEARLY

    @classmethod
    def of(cls, arms: Sequence[Point], fewest: int, most: int, ahead: float = _CLEARLY) -> _Heat:
        return cls(list(arms), fewest, most, {a: [] for a in arms}, ahead)

    @property
    def blocks(self) -> int:
        return max((len(self.times[a]) for a in self.arms), default=0)


class RacingSearch:
    """Implements `search.Search` for any Space."""

    def __init__(self, space: Space, start: Sequence[Point] = ()):
        """`start`: points that race in the screening besides the natural ones."""
        self._space = space
        self._steps: list[float] = []
        self._failed: set[Point] = set()
        self._tried: list[Point] = []
        self._best: list[Point] = []
        self._heat: _Heat | None = None
        self._asked: list[Point] = []
        self._affordable = 0
        self._heats = self._plan(list(start))

    @property
    def ranking(self) -> list[Point]:
        """The winner of the last race first."""
        running = self._order(self._heat) if self._heat is not None and self._heat.blocks else []
        return [p for p in dict.fromkeys([*running, *self._best]) if p not in self._failed]

    def ask(self, affordable: int) -> list[Point]:
        """The arms still in the race, or the first block of the next race."""
        self._affordable = affordable
        if self._heat is None or self._over(self._heat):
            self._finish()
            self._heat = next(self._heats, None)
        if self._heat is None or len(self._heat.arms) > affordable:
            self._finish()
            self._heat = None
            self._heats = iter(())
            return []
        self._asked = list(self._heat.arms)
        return self._asked

    def tell(self, times: Mapping[Point, float | None]) -> None:
        """Drop who failed and who is surely worse."""
        heat = self._heat
        if heat is None:
            return
        for point in self._asked:
            seconds = times.get(point)
            if seconds is None:
                self._failed.add(point)
            else:
                heat.times[point].append(seconds)
        heat.arms = [a for a in heat.arms if a not in self._failed]
        if not heat.arms or heat.blocks < heat.fewest:
            return
        race = self._race(heat)
        dropped = set(race.surely_worse())
        heat.arms = [a for a in heat.arms if a not in dropped]

    def _race(self, heat: _Heat) -> Race[Point]:
        times = {a: heat.times[a] for a in heat.arms}
        own = Race(times)
        return Race(times, pool_noise([*self._steps, *own.steps()]))

    def _order(self, heat: _Heat) -> list[Point]:
        if not heat.arms:
            return []
        race = self._race(heat)
        return sorted(heat.arms, key=lambda a: race.scores[a])

    @staticmethod
    def _over(heat: _Heat) -> bool:
        return heat.blocks >= heat.most or not heat.arms or (len(heat.arms) <= 1 and heat.blocks >= heat.fewest)

    def _finish(self) -> None:
        """Close a race: its survivors, in order, become the best known."""
        heat = self._heat
        if heat is None or not any(heat.times.values()):
            return
        self._steps += self._race(heat).steps() if heat.arms else []
        incumbent = self._best[0] if self._best else None
        order = self._order(heat)
        if order and incumbent in heat.arms and order[0] != incumbent:
            # a challenger of a later race has to be clearly better than the one that holds the lead
            race = self._race(heat)
            clear = [a for a in order if a != incumbent and race.behind(incumbent, a) > heat.ahead]
            order = (
                clear
                + [a for a in order if a not in clear and a == incumbent]
                + [a for a in order if a not in clear and a != incumbent]
            )
        # whoever was dropped stays known, behind, for the case that the best fail later on
        dropped = sorted(
            (a for a in heat.times if a not in order and heat.times[a]), key=lambda a: median(heat.times[a])
        )
        known = [*order, *(p for p in self._best if p not in order)]
        self._best = [*known, *(a for a in dropped if a not in known)]
        self._heat = None

    def _leader(self) -> Point | None:
        return next((p for p in self._best if p not in self._failed), None)

    def _fresh(self, points: Sequence[Point]) -> list[Point]:
        new = self._space.distinct(points, self._tried)
        self._tried += new
        return new

    def _plan(self, start: list[Point]) -> Iterator[_Heat]:
        first = self._fresh([*start, *self._space.crossed()])
        affordable = self._affordable
        # the screening may take half of the runs, in two blocks at least
        yield _Heat.of(self._thin(first, max(2, affordable // 4)), 2, 8)
        for axis in self._space.open:
            leader = self._leader()
            if axis.crossed or leader is None:
                continue
            rivals = self._fresh([leader.having(**{axis.name: v}) for v in axis.values])
            if rivals:
                yield _Heat.of([leader, *rivals], 3, 6, _LIKELY)
        holder = self._leader()
        for axis in self._space.open:
            if axis.ordered:
                yield from self._refine(axis)
        leader = self._leader()
        if holder is not None and leader is not None and leader != holder:
            # of many challengers one wins a short race by luck
            self._best = [holder, *(p for p in self._best if p != holder)]
            yield _Heat.of([holder, leader], _PLAY_OFF, _PLAY_OFF + 4)

    def _thin(self, points: list[Point], most: int) -> list[Point]:
        """At most `most` points, evenly over the list's order of importance (natural values come with the best first)."""
        if len(points) <= most:
            return points
        rank = {a.name: {value: i for i, value in enumerate(a.natural)} for a in self._space.open if a.crossed}
        return sorted(points, key=lambda p: sum(order.get(p[name], len(order)) for name, order in rank.items()))[:most]

    def _refine(self, axis: Axis) -> Iterator[_Heat]:
        leader = self._leader()
        if leader is None:
            return
        position = {value: i for i, value in enumerate(axis.values)}
        natural = sorted(position[v] for v in axis.natural)
        here = position[leader[axis.name]]
        below = max((i for i in natural if i < here), default=0)
        above = min((i for i in natural if i > here), default=len(axis.values) - 1)
        step = max(here - below, above - here) // 2
        while step >= 1:
            leader = self._leader()
            if leader is None:
                return
            here = position[leader[axis.name]]
            near = {here - step, here + step, here - 1, here + 1}
            values: list[Any] = [axis.values[i] for i in sorted(near) if 0 <= i < len(axis.values) and i != here]
            rivals = self._fresh([leader.having(**{axis.name: v}) for v in values])
            # whoever wins here must still be able to face the natural winner once more
            if (1 + len(rivals)) * 3 + 2 * _PLAY_OFF > self._affordable:
                return
            if rivals:
                yield _Heat.of([leader, *rivals], 3, 5)
            step //= 2
