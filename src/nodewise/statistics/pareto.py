# SPDX-License-Identifier: BSD-3-Clause
"""Which of many choices no other one beats, where two numbers count."""

from __future__ import annotations

import math
from collections.abc import Sequence


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """The indices of the points that none other beats, less being better in both numbers, ordered by the first number.

    One beats another where it is no worse in both and better in one; points that are alike stay or go together, and one
    with a number that is NaN neither beats nor stays. Takes the time of sorting.
    """
    known = [i for i, point in enumerate(points) if not any(map(math.isnan, point))]
    front: list[int] = []
    for i in sorted(known, key=lambda i: (*points[i], i)):
        if not front or points[i][1] < points[front[-1]][1] or points[i] == points[front[-1]]:
            front.append(i)
    return front
