# SPDX-License-Identifier: BSD-3-Clause
"""Space: the settings worth trying. Axes with their values, and which points are the same setting under two names."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from nodewise.base.frozen import dataclass

#: Spaces of more points than this are not gone through to see whether one may be run.
_EVERY = 20_000


@dataclass(frozen=True)
class Axis:
    """One thing that can be set.

    `values` are all that may be tried, `natural` those that are tried first and kept unless another one is surely better
    (whole cores, whole sockets); `default` is how the program has it when its user starts it. An `ordered` axis holds
    numbers whose neighbours behave alike; a `crossed` one is tried in combination with the other crossed ones from the
    start, any other at the best of those.
    """

    name: str
    values: tuple[Any, ...]
    natural: tuple[Any, ...]
    default: Any
    ordered: bool = False
    crossed: bool = False

    @property
    def worth(self) -> tuple[Any, ...]:
        """The values that deserve a run each besides the default, the first to be tried first: of ordered numbers the natural ones, else all."""
        further = () if self.ordered else self.values
        return tuple(v for v in dict.fromkeys((*self.natural, *further)) if v != self.default)


#: What distinguishes the point of the program as its user starts it from one that spells its defaults out.
AS_STARTED = "as started"


class Point(Mapping[str, Any]):
    """A value for each axis, in the axes' order; hashable."""

    def __init__(self, values: Mapping[str, Any]):
        self._values = dict(values)
        self._items = tuple(self._values.items())
        # asked for again and again, and long where there are many axes
        self._hash = hash(self._items)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and self._items == other._items

    def __repr__(self) -> str:
        return " ".join(f"{k}={v}" for k, v in self._items)

    def having(self, **values: Any) -> Point:
        """The same point with some axes changed."""
        return Point({**self._values, **values})


def _anything(point: Point) -> bool:
    return True


@dataclass(frozen=True)
class Space:
    """Axes, and `identity`: points with equal identity are one setting (compact and scatter of one thread, say).

    An axis without effect on a point (a chunk where the schedule has none) is not in its identity. `allowed` says which
    points may be run at all; the default point always may. `features` are numbers, as many for every point, that say how
    alike points are besides what their values say, for a search that learns; None where the values say it all.
    """

    axes: tuple[Axis, ...]
    identity: Callable[[Point], Hashable]
    allowed: Callable[[Point], bool] = _anything
    features: Callable[[Point], tuple[float, ...]] | None = None

    def axis(self, name: str) -> Axis:
        """The axis of that name. Raises KeyError."""
        return {a.name: a for a in self.axes}[name]

    @cached_property
    def open(self) -> tuple[Axis, ...]:
        """The axes on which there is something to choose."""
        return tuple(a for a in self.axes if len(a.values) > 1)

    @cached_property
    def default(self) -> Point:
        """Every open axis as the program's user has it."""
        return Point({a.name: a.default for a in self.open})

    def changed(self, point: Mapping[str, Any]) -> list[str]:
        """The axes on which a point is not as the program's user has it."""
        return [a.name for a in self.open if a.name in point and point[a.name] != a.default]

    @property
    def size(self) -> int:
        """How many points there are, those of equal identity counted each."""
        size = 1
        for axis in self.axes:
            size *= len(axis.values)
        return size

    @property
    def has_choice(self) -> bool:
        """Whether some setting but the default may be run; a space too large to go through is taken to have one."""
        if self.size > _EVERY:
            return True
        names, here = [a.name for a in self.open], self.identity(self.default)
        points = (Point(dict(zip(names, v, strict=True))) for v in itertools.product(*(a.values for a in self.open)))
        return any(self.allowed(p) and self.identity(p) != here for p in points)

    def crossed(self) -> list[Point]:
        """All combinations of the natural values of the crossed axes, the others at their default, each setting once."""
        crossed = [a for a in self.open if a.crossed]
        combinations = itertools.product(*(a.natural for a in crossed))
        return self.distinct(
            self.default.having(**dict(zip((a.name for a in crossed), values, strict=True))) for values in combinations
        )

    def distinct(self, points: Iterable[Point], known: Sequence[Point] = ()) -> list[Point]:
        """The first allowed point of each identity that none of `known` has."""
        seen = {self.identity(p) for p in known}
        first: dict[Hashable, Point] = {}
        for point in points:
            if not self.allowed(point):
                continue
            key = self.identity(point)
            if key not in seen:
                first.setdefault(key, point)
        return list(first.values())
