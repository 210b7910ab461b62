# SPDX-License-Identifier: BSD-3-Clause
"""Ratios with their intervals as bars on one axis, which is as wide as there is room."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nodewise.base.frozen import dataclass
from nodewise.statistics.verdict import Word


@dataclass(frozen=True)
class Bar:
    """Where a ratio and its interval (None: none) lie on the axis, in per cent of its width; `tone` is the class of its verdict."""

    middle: float
    left: float | None
    width: float | None
    tone: str


def bars_of(given: Sequence[tuple[float, float | None, float | None, Word | None]]) -> tuple[list[Bar], float]:
    """A bar for each ratio with its ends and its verdict, and where 1 lies on their axis, whose steps are equal factors."""
    ends = [e for ratio, low, high, _ in given for e in (low, ratio, high) if e is not None]
    least, most = math.log(min([*ends, 1 / 1.02])), math.log(max([*ends, 1.02]))
    margin = 0.04 * (most - least)

    def at(ratio: float) -> float:
        return round(100 * (math.log(ratio) - least + margin) / (most - least + 2 * margin), 2)

    made = []
    for ratio, low, high, word in given:
        both = None if low is None or high is None else (at(low), round(at(high) - at(low), 2))
        tone = "" if word is None or word is Word.UNDECIDED else word.value.replace(" ", "-")
        made.append(Bar(at(ratio), both and both[0], both and both[1], tone))
    return made, at(1.0)
