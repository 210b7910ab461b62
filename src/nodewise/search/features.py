# SPDX-License-Identifier: BSD-3-Clause
"""What a point is as numbers that a model can learn from."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from nodewise.search.space import Axis, Point

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Encoder:
    """Turns points into rows of features: what the axes say by themselves, then what the space's `features` says.

    An axis of positive numbers is its logarithm, other ordered axes their position; text is a kind (one column each),
    the numbers in it, and itself (one column each): `dynamic,16` and `dynamic,64` are of one kind and may be alike, but
    numbers can be mere names, too.
    """

    def __init__(self, axes: Sequence[Axis], features: Callable[[Point], tuple[float, ...]] | None, example: Point):
        self._more = features
        self._tables: list[tuple[str, dict[object, tuple[float, ...]]]] = []
        self.groups: list[int] = []
        group = 0
        for axis in axes:
            table, parts = _encode(axis)
            self._tables.append((axis.name, table))
            self.groups += [group + part for part in parts]
            group += max(parts, default=-1) + 1
        if features is not None:
            self.groups += [group + i for i in range(len(features(example)))]

    def row(self, point: Point) -> NDArray[np.float64]:
        """The features of one point."""
        found: list[float] = []
        values = dict(point)
        for name, table in self._tables:
            found += table[values[name]]
        if self._more is not None:
            found += self._more(point)
        return np.array(found)


def _encode(axis: Axis) -> tuple[dict[object, tuple[float, ...]], list[int]]:
    """For each value of an axis its columns; and to which part of the axis each column belongs."""
    values = axis.values
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values) and axis.ordered:
        if min(values) > 0:
            return {v: (math.log2(v),) for v in values}, [0]
        return {v: (4.0 * i / max(1, len(values) - 1),) for i, v in enumerate(values)}, [0]
    if axis.ordered:
        return {v: (4.0 * i / max(1, len(values) - 1),) for i, v in enumerate(values)}, [0]
    texts = [str(v) for v in values]
    kinds = list(dict.fromkeys(_NUMBER.sub("#", t) for t in texts))
    numbers = [[float(n) for n in _NUMBER.findall(t)] for t in texts]
    if len(kinds) == len(values):
        return {v: tuple(float(i == j) for j in range(len(values))) for i, v in enumerate(values)}, [0] * len(values)
    widest = max(map(len, numbers))
    logs = [[math.log2(1 + n) for n in row] for row in numbers]
    middle = [float(np.mean([row[c] for row in logs if c < len(row)])) for c in range(widest)]
    table: dict[object, tuple[float, ...]] = {}
    for value, text, row in zip(values, texts, logs, strict=True):
        kind = kinds.index(_NUMBER.sub("#", text))
        filled = [row[c] if c < len(row) else middle[c] for c in range(widest)]
        table[value] = (
            *(float(kind == k) for k in range(len(kinds))),
            *(f - m for f, m in zip(filled, middle, strict=True)),
            *(float(value == v) for v in values),
        )
    return table, [0] * len(kinds) + [1 + c for c in range(widest)] + [1 + widest] * len(values)
