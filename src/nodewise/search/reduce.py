# SPDX-License-Identifier: BSD-3-Clause
"""What of a setting carries its gain: axes that add nothing are put back to how the program has them.

By group testing (R. Dorfman, Annals of Mathematical Statistics 14, 1943): most knobs do nothing for most programs, so all axes that
are in doubt are put back at once, and the two run side by side in fresh blocks. Where that loses nothing, one comparison was
enough; where it loses, the group is split, down to single axes. An axis that matters only together with another one makes its group lose.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from nodewise.search.guided import GuidedSearch
from nodewise.search.space import Point, Space

#: What an axis is worth is more than nothing where it exceeds zero by so many of its deviations.
_CLEAR = 2.5
#: Putting axes back costs no more than is tolerated where its cost lies so many deviations below that.
_BELOW = 2.0
#: A cost of up to so many standard errors is near enough to nothing.
_NEAR = 1.5
#: The runs for which a point was chosen were lucky ones: by that alone putting an axis back may seem to cost so many deviations.
_LUCK = 2.0
#: So many deviations of what a point loses that never ran: what it gains together with others no model of the others knows.
_UNSEEN = 2.0
#: A group runs in so many fresh blocks before it is judged, where there is room for them, and in so many at most.
_FEWEST, _MOST_BLOCKS = 2, 40
#: So many blocks show how much runs vary.
_KNOWN = 5
#: The part of the gain that may be lost: where the runs do not suffice for more, and where they do.
_TOLERATED, _WANTED = 6, 15
#: So many groups are put back side by side.
_MOST_ARMS = 3


class Reduction:
    """What of one point of a search can be put back, judged by the outcomes of the points asked for.

    `point` is the reduced one so far, which has run; `unknown` are the axes of which the runs leave open whether they matter.
    `within` is the difference (of log time) that counts as none. At least one axis stays changed.
    """

    def __init__(self, search: GuidedSearch, space: Space, within: float, point: Point):
        self._search = search
        self._space = space
        self._default = space.default
        self._within = within
        self._since = search.blocks
        gain = max(0.0, search.gain(point, over=search.reference)[0])
        self._tolerated, self._wanted = max(within, gain / _TOLERATED), max(within, gain / _WANTED)
        self.point = self._from = point
        self._asked: dict[tuple[Point, Point], int] = {}
        self._joined: set[Point] = set()
        same = [n for n in space.changed(point) if space.identity(self._without([n])) == space.identity(point)]
        self.point = self._without(same[:1])
        #: Whether it gains more than its changes do one by one: then no model of these knows what a point gains without one that never ran.
        self._together = gain - self._one_by_one() > self._tolerated
        self._groups = self._first_groups(gain)
        self._arms: list[tuple[str, ...]] = []

    # --- which groups of axes

    def _first_groups(self, gain: float) -> list[tuple[str, ...]]:
        """All axes in doubt as one group, where something else carries the gain; else all in two halves."""
        cost, sure = {}, set()
        entangled = self._search.entangled(self.point)
        for name in self._space.changed(self.point):
            cost[name], deviation = self._search.gain(self.point, over=self._without([name]))
            # by its luck alone the point may seem better than without an axis, but not by as much as this
            surely = cost[name] - (_CLEAR + _LUCK) * deviation >= self._within and cost[name] > self._tolerated
            if name not in entangled and (surely or cost[name] > gain / 2):
                sure.add(name)
        ordered = tuple(sorted(cost, key=lambda n: cost[n]))
        doubtful = tuple(n for n in ordered if n not in sure)
        return [doubtful] if sure else _halves(ordered)

    def _one_by_one(self) -> float:
        """What the changes of the point are expected to gain, each by itself, in all."""
        alone = [self._default.having(**{n: self.point[n]}) for n in self._space.changed(self.point)]
        return sum(self._search.gain(p, over=self._default)[0] for p in alone if self._space.allowed(p))

    def _without(self, names: Iterable[str]) -> Point:
        return self.point.having(**{n: self._default[n] for n in names})

    def _next_arms(self) -> list[tuple[str, ...]]:
        """The groups to be put back next, each for itself."""
        changed = self._space.changed(self.point)
        waiting, self._groups = [g for g in self._groups if g], []
        if len(waiting) == 1 and set(waiting[0]) == set(changed):
            # what is left carries the gain, together or one of them
            waiting = _halves(waiting[0]) if len(changed) > 1 else []
        found: list[tuple[str, ...]] = []
        for group in waiting:
            if len(found) == _MOST_ARMS:
                self._groups.append(group)
            elif self._may(self._without(group)):
                found.append(group)
            else:
                self._groups += _halves(group)
        return found or (self._next_arms() if self._groups else [])

    def _may(self, point: Point) -> bool:
        return self._space.allowed(point) and not self._search.failed(point)

    # --- what they cost

    def _cost(self, group: tuple[str, ...]) -> tuple[float, float, int]:
        """What putting a group back costs in log time, by fresh blocks alone: its mean, the standard error, and how many there are.

        The runs before do not count: the point leads because it was lucky in them.
        """
        costs = self._search.pairs(self.point, self._without(group), self._since)
        one = math.sqrt(2) * self._search.noise
        if not costs:
            return 0.0, one, 0
        # over few blocks the scatter may be small by luck
        scatter = max(one, float(np.std(costs, ddof=1)) if len(costs) > 1 else 0.0)
        return float(np.mean(costs)), scatter / math.sqrt(len(costs)), len(costs)

    def _counts(self, group: tuple[str, ...], most: float) -> bool | None:
        """Whether a group carries some of the gain, where at most `most` of log time may be lost; None where fresh blocks leave that open."""
        if not self._may(self._without(group)):
            return True
        cost, error, blocks = self._cost(group)
        if blocks < _FEWEST:
            return None
        if cost <= max(self._within / 2, _NEAR * error) and cost + _BELOW * error <= most:
            return False
        # few blocks do not show how much runs vary: a cost below what may be lost is not taken for a cost by these
        known = blocks >= _KNOWN or cost > self._tolerated
        return True if known and cost > max(self._within / 4, _CLEAR * error) else None

    def _final(self, group: tuple[str, ...]) -> bool | None:
        """The same where no more blocks will come: what these leave open is judged by all runs, except for axes that only ever ran together."""
        counts = self._counts(group, self._tolerated)
        if self._together and not self._search.ran(self._without(group)):
            return counts
        if counts is None and self._search.entangled(self.point).isdisjoint(group):
            cost, deviation = self._search.gain(self.point, over=self._without(group))
            lost, doubt = self._search.gain(self._from, over=self._without(group))
            if (
                cost <= max(self._within / 2, _CLEAR * deviation)
                and lost <= self._tolerated
                and lost + (1 if self._search.ran(self._without(group)) else _UNSEEN) * doubt <= 2 * self._tolerated
            ):
                return False
        return counts

    def _hopeless(self, group: tuple[str, ...], blocks: int) -> bool:
        """Whether so many more blocks will hardly decide it."""
        cost, error, made = self._cost(group)
        missed = self._asked.get((self.point, self._without(group)), 0) - made
        aim = max(self._tolerated - max(cost, 0.0), self._tolerated / 2)
        needed = max(_FEWEST, (_BELOW * error * math.sqrt(max(made, 1)) / aim) ** 2)
        return blocks < 1 or missed > 1 or made >= _MOST_BLOCKS or needed > made + blocks

    # --- asking

    def ask(self, room: int) -> list[Point]:
        """The next block, for which and further ones there is room for so many runs; empty where nothing is left to be found out."""
        while True:
            if not self._arms:
                self._arms = self._next_arms()
                if not self._arms:
                    return []
            open_ = [g for g in self._arms if self._counts(g, self._wanted) is None]
            while open_ and any(self._hopeless(g, room // (1 + len(open_))) for g in open_):
                last = max(open_, key=lambda g: (self._cost(g)[0], self._arms.index(g)))
                open_.remove(last)
            if open_:
                asked = [self._without(g) for g in open_]
                for point in asked:
                    self._asked[self.point, point] = self._asked.get((self.point, point), 0) + 1
                return [self.point, *asked]
            self._conclude()

    def _conclude(self) -> None:
        """Of the groups of this round: put back what costs nothing, split what does."""
        counting = {g: self._final(g) for g in self._arms}
        self._arms = []
        idle = sorted((g for g in counting if counting[g] is False), key=lambda g: self._cost(g)[0])
        for group, counts in counting.items():
            if counts is not False:
                self._groups += _halves(group)
        together = tuple(n for g in idle for n in g)
        if len(idle) > 1 and set(together) != set(self._space.changed(self.point)):
            if self._final(together) is False:
                idle = [together]
            elif (joined := self._without(together)) not in self._joined:
                # each can be put back, but perhaps not all of them
                self._joined.add(joined)
                self._groups.insert(0, together)
                return
        if idle:
            self.point = self._without(idle[0])
            self._groups += idle[1:]

    def bare(self, point: Point) -> Point:
        """Only what differs from how the program is started, unless spelling its defaults out is itself a gain."""
        if self._search.reference != self._default:
            gain, deviation = self._search.gain(self._default, over=self._search.reference)
            if gain - deviation > self._within:
                return point
        return Point({n: point[n] for n in self._space.changed(point)})


def _halves(group: tuple[str, ...]) -> list[tuple[str, ...]]:
    """A group in two; a single axis has no parts."""
    middle = (len(group) + 1) // 2
    return [group[:middle], group[middle:]] if len(group) > 1 else []
