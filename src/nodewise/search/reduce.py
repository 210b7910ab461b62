# SPDX-License-Identifier: BSD-3-Clause
"""What of a setting carries its gain: axes that add nothing are put back to how the program has them."""

from __future__ import annotations

from nodewise.search.guided import GuidedSearch
from nodewise.search.space import Point, Space

#: An axis whose effect lies so many deviations beyond what counts as none needs no further runs.
_SURE = 2.0
#: What an axis adds is doubtful up to so many of its deviations.
_DOUBTFUL = 2.5
#: What carries less than one part in so many of the gain is not worth having, where it is not sure.
_SHARE = 6
#: So many axes are looked at side by side.
_MOST_ARMS = 6


class Reduction:
    """Of one search: which axes of a point can be put back, by what the model makes of all runs.

    `within` is the difference (of log time) that counts as none. An axis is put back where what that is expected to cost
    is less than a quarter of it, or than two and a half of its own standard deviations: most knobs do nothing for most
    programs, and the point was picked for its good luck, too. How many threads there are, and where, seldom does nothing:
    of a crossed axis what is expected to be more than `within` and than its deviation stays. All together no more than a
    sixth of the gain is given up.
    """

    def __init__(self, search: GuidedSearch, space: Space, within: float):
        self._search = search
        self._space = space
        self._default = space.default
        self._within = within

    def _without(self, point: Point) -> list[Point]:
        """The point with one axis put back, for each axis where that is another setting and may run."""
        others = [point.having(**{n: self._default[n]}) for n in self._space.changed(point)]
        mine = self._space.identity(point)
        return [
            p
            for p in others
            if self._space.allowed(p) and not self._search.failed(p) and self._space.identity(p) != mine
        ]

    def arms(self, point: Point) -> list[Point]:
        """What should run beside the point, before it is told what carries its gain: single axes put back that may add
        nothing, and all of those at once. Empty where everything is known well enough.
        """
        doubtful = []
        entangled = self._search.entangled(point)
        for other in self._without(point):
            cost, deviation = self._search.gain(point, over=other)
            sure = cost - _SURE * deviation >= self._within or cost + _SURE * deviation <= self._within / 2
            if not sure or any(other[n] != point[n] for n in entangled):
                doubtful.append((cost, other))
        doubtful.sort(key=lambda item: item[0])
        return [p for _, p in doubtful[:_MOST_ARMS]]

    def of(self, point: Point) -> Point:
        """The simplest point that is expected to be as good; at least one axis stays changed."""
        now = point
        # without it the point failed: so may the others
        needed = [n for n in self._space.changed(point) if self._search.failed(point.having(**{n: self._default[n]}))]
        most = self._search.gain(point, over=self._search.reference)[0] / _SHARE
        while len(self._space.changed(now)) > 1:
            free = []
            # the model shares a gain out among values that only ever ran together, and may be wrong
            kept = [*needed, *self._search.entangled(now)]
            for i, other in enumerate(others := self._without(now)):
                cost, deviation = self._search.gain(point, over=other)
                if any(other[n] != now[n] for n in kept):
                    continue
                if cost < min(most, self._doubtful(now, other, deviation)):
                    free.append((cost, i))
            if not free:
                break
            now = others[min(free)[1]]
        return now

    def _doubtful(self, point: Point, other: Point, deviation: float) -> float:
        """Up to which cost (of log time) the one axis in which `other` differs is put back."""
        (axis,) = (a for a in self._space.open if point[a.name] != other[a.name])
        most = _DOUBTFUL * deviation
        if axis.crossed:
            most = min(most, max(self._within, deviation))
        return max(self._within / 4, most)

    def bare(self, point: Point) -> Point:
        """Only what differs from how the program is started, unless spelling its defaults out is itself a gain."""
        if self._search.reference != self._default:
            gain, deviation = self._search.gain(self._default, over=self._search.reference)
            if gain - deviation > self._within:
                return point
        return Point({n: point[n] for n in self._space.changed(point)})
