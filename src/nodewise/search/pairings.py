# SPDX-License-Identifier: BSD-3-Clause
"""Which pairs of values ran together: what two values gain only together shows in no run that has one of them.

Points that cover such pairs are made greedily, many pairs at once, as sets of test cases are (D. M. Cohen, S. R. Dalal,
M. L. Fredman, G. C. Patton, IEEE Transactions on Software Engineering 23, 1997): all pairs take a number of runs that grows
with the logarithm of the number of axes.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nodewise.search.space import Point, Space

#: An axis and one of its values; and two of different axes, in the order of the axes.
Item = tuple[str, Any]
Pair = tuple[Item, Item]

#: Of an axis of more values than this the first ones worth a run are paired.
_MOST_VALUES = 12
#: So many points are made, of which the one with the most new pairs is taken.
_TRIES = 8


class Pairings:
    """The pairs of values of a space's axes, crossed axes left out, that no point had so far."""

    def __init__(self, space: Space, generator: random.Random):
        self._random = generator
        axes = [a for a in space.open if not a.crossed]
        self._values = {a.name: (a.default, *a.worth)[:_MOST_VALUES] for a in axes}
        self._unseen = {
            ((one, v), (other, w))
            for one, other in itertools.combinations(self._values, 2)
            for v, w in itertools.product(self._values[one], self._values[other])
        }
        sizes = sorted(map(len, self._values.values()))[-2:]
        #: No fewer points than this have all pairs.
        self.least = sizes[0] * sizes[1] if len(sizes) == 2 else 0
        #: How many pairs there are.
        self.count = len(self._unseen)

    def see(self, point: Point) -> None:
        """A point ran."""
        items = [(name, point[name]) for name in self._values]
        self._unseen.difference_update(itertools.combinations(items, 2))

    def unseen(self, without: Iterable[Item] = ()) -> int:
        """How many pairs no point had, those with one of some items left out."""
        return len(self._left(without))

    def point(self, centre: Point, without: Iterable[Item], may: Callable[[Point], bool]) -> Point | None:
        """A point with as many unseen pairs as can be, otherwise as the centre; None where none that `may` run has one.

        None of its values is one of `without`, unless the centre has it.
        """
        left = self._left(without)
        best, most = None, 0
        for _ in range(_TRIES if left else 0):
            made = centre.having(**self._row(centre, left))
            covered = sum((one, other) in left for one, other in _pairs(self._values, made))
            if covered > most and may(made):
                best, most = made, covered
        return best

    def points(self, most: int, centre: Point, without: set[Item], may: Callable[[Point], bool]) -> list[Point]:
        """At most so many points as `point` makes them, each with pairs that those before it have not; they count as seen."""
        found: list[Point] = []
        while len(found) < most and (made := self.point(centre, without, may)) is not None:
            self.see(made)
            found.append(made)
        return found

    def _left(self, without: Iterable[Item]) -> set[Pair]:
        bad = set(without)
        return {pair for pair in self._unseen if not bad.intersection(pair)} if bad else self._unseen

    def _row(self, centre: Point, left: set[Pair]) -> dict[str, Any]:
        """A value for each axis: first two that never ran together, then what makes the most new pairs with those before."""
        row: dict[str, Any] = dict(self._random.choice(sorted(left, key=repr)))
        rest = [name for name in self._values if name not in row]
        self._random.shuffle(rest)
        for name in rest:
            new = {v: self._new((name, v), row, left) for v in self._values[name]}
            most = max(new.values())
            best = [v for v, count in new.items() if count == most]
            row[name] = centre[name] if most == 0 or centre[name] in best else self._random.choice(best)
        return row

    def _new(self, item: Item, row: Mapping[str, Any], left: set[Pair]) -> int:
        order: Sequence[str] = list(self._values)
        at = order.index(item[0])
        return sum(((other, item) if order.index(other[0]) < at else (item, other)) in left for other in row.items())


def _pairs(names: Iterable[str], point: Point) -> Iterable[Pair]:
    return itertools.combinations([(name, point[name]) for name in names], 2)
