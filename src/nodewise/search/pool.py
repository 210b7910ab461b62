# SPDX-License-Identifier: BSD-3-Clause
"""Which points of a space a search looks at in one step: neighbours of good ones, natural ones, and some at random."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nodewise.search.space import Axis, Point, Space

#: Of more natural values than this so many are looked at in one step, and of an unordered axis so many values.
_MOST_NATURAL, _MOST_VALUES = 40, 12
#: Of the combinations of natural values so many.
_MOST_CROSSED = 120
#: So many points of the space are gone through one by one where all that ran failed.
_EVERY = 4096


class Pool:
    """Draws points from a space; what it draws follows from the seed of its generator alone."""

    def __init__(self, space: Space, generator: random.Random):
        self._space = space
        self._random = generator
        self._crossed: list[Point] = []

    def natural(self, centre: Point) -> list[Point]:
        """Combinations of the natural values of the crossed axes, the other axes as the centre has them."""
        if not self._crossed:
            self._crossed = self.thin(self._space.crossed(), _MOST_CROSSED)
        rest = {a.name: centre[a.name] for a in self._space.open if not a.crossed}
        return [p.having(**rest) for p in self._crossed]

    def thin(self, points: list[Point], most: int) -> list[Point]:
        """At most `most` points, evenly over the list's order of importance (natural values come with the best first)."""
        if len(points) <= most:
            return points
        rank = {a.name: {value: i for i, value in enumerate(a.natural)} for a in self._space.open if a.crossed}
        return sorted(points, key=lambda p: sum(order.get(p[name], len(order)) for name, order in rank.items()))[:most]

    def singles(self, centre: Point) -> list[Point]:
        """The centre with each other value of each axis that is not crossed."""
        further = [a for a in self._space.open if not a.crossed]
        return [centre.having(**{a.name: v}) for a in further for v in (a.default, *a.worth) if v != centre[a.name]]

    def combined(self, centre: Point, most: int) -> list[Point]:
        """All combinations of the values of the axes that are neither crossed nor ordered, the other axes as the centre has
        them; empty where those are more than `most`.
        """
        mixed = [a for a in self._space.open if not a.crossed and not a.ordered]
        if len(mixed) < 2 or math.prod(len(a.values) for a in mixed) > most:
            return []
        names = [a.name for a in mixed]
        return [
            centre.having(**dict(zip(names, values, strict=True)))
            for values in itertools.product(*(a.values for a in mixed))
        ]

    def cover(
        self, centre: Point, changes: Sequence[tuple[str, Any]], rows: int, may: Callable[[Point], bool]
    ) -> list[Point]:
        """At most `rows` points that have each change of the centre once, and as few changes each as that takes.

        Where there are more than the points can have, those that come first are in. `may` says which points may run.
        """
        made: list[dict[str, Any]] = [{} for _ in range(rows)]
        for name, value in changes:
            fitting = [r for r in made if name not in r and may(centre.having(**r, **{name: value}))]
            if fitting:
                fewest = min(map(len, fitting))
                self._random.choice([r for r in fitting if len(r) == fewest])[name] = value
        return [centre.having(**row) for row in made if row]

    def near(self, centres: Sequence[Point]) -> list[Point]:
        """Points that differ from one of the centres, the best of which comes first, in one axis; in random order."""
        found = [
            point.having(**{axis.name: v})
            for rank, point in enumerate(centres)
            for axis in self._space.open
            for v in self._steps(axis, point[axis.name], rank)
        ]
        self._random.shuffle(found)
        return found

    def _steps(self, axis: Axis, here: Any, rank: int) -> list[Any]:
        """Other values of an axis: all of a short one, of a long ordered one the near and the natural."""
        others = [v for v in axis.values if v != here]
        if len(others) <= _MOST_VALUES:
            return others
        if not axis.ordered:
            return self._random.sample(others, _MOST_VALUES)
        at = axis.values.index(here)
        steps = {at + sign * 2**k for k in range(len(axis.values).bit_length()) for sign in (-1, 1)}
        values = [axis.values[i] for i in sorted(steps) if 0 <= i < len(axis.values)]
        natural = [v for v in axis.natural if v != here] if rank == 0 else []
        if len(natural) > _MOST_NATURAL:
            # where every value is as natural as the others, that says nothing
            natural = self._random.sample(natural, _MOST_NATURAL)
        return [*values, *natural]

    def scattered(self, centre: Point, count: int) -> list[Point]:
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

    def every(self) -> Iterator[Point]:
        """The first points of the whole space, one by one."""
        names = [a.name for a in self._space.open]
        combinations = itertools.product(*(a.values for a in self._space.open))
        return (Point(dict(zip(names, values, strict=True))) for values in itertools.islice(combinations, _EVERY))


def in_turn(changes: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Axes with values in another order: the first value of each axis, then the second of each, and so on."""
    rank: dict[str, int] = {}
    places = []
    for name, _ in changes:
        places.append(rank.setdefault(name, 0))
        rank[name] += 1
    return [changes[i] for i in sorted(range(len(changes)), key=lambda i: places[i])]


def together(leader: Point, singles: Sequence[Point], scores: Sequence[float]) -> list[Point]:
    """The leader with the best change of one axis, with the best two of two axes, and so on, as long as they score below it.

    `singles` are points near it, those with one change among them; `scores` are that of the leader and theirs.
    """
    changes: dict[str, Any] = {}
    found = []
    for i in sorted(range(len(singles)), key=lambda i: scores[1 + i]):
        names = [n for n in leader if singles[i][n] != leader[n]]
        if len(names) == 1 and names[0] not in changes and scores[1 + i] < scores[0]:
            changes[names[0]] = singles[i][names[0]]
            found.append(leader.having(**changes))
    return found
