# SPDX-License-Identifier: BSD-3-Clause
"""Bjøntegaard's delta rate: how many more bits one encoder takes than another at equal quality, on average over qualities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

#: So many points have a curve at least.
FEWEST = 4

#: A rate and its quality.
RatePoint = tuple[float, float]


def bd_rate(reference: Sequence[RatePoint], other: Sequence[RatePoint]) -> float | None:
    """The bits that `other` takes more than `reference`, in %, from points of (rate, quality); below 0 where it takes fewer.

    Logarithms of rates over quality are joined by monotone cubics (PCHIP, as the JCT-VC's common test conditions have it since 2013; Bjøntegaard's
    first document, VCEG-M33, fits one cubic), and the mean distance is taken where both have points. None where a curve has
    fewer than four points, where they do not overlap, or where one is no function of quality.
    """
    one, two = _curve(reference), _curve(other)
    if one is None or two is None:
        return None
    low, high = max(one[0][0], two[0][0]), min(one[-1][0], two[-1][0])
    if low >= high:
        return None
    distance = (_integral(two, low, high) - _integral(one, low, high)) / (high - low)
    return 100 * (math.exp(distance) - 1)


def _curve(points: Sequence[RatePoint]) -> list[tuple[float, float, float]] | None:
    """By quality, the logarithm of the rate and its slope there."""
    found = sorted((quality, math.log(rate)) for rate, quality in points if rate > 0)
    if len(found) < FEWEST or any(one[0] == other[0] for one, other in pairwise(found)):
        return None
    widths = [b[0] - a[0] for a, b in pairwise(found)]
    rises = [(b[1] - a[1]) / width for (a, b), width in zip(pairwise(found), widths, strict=True)]
    inner = [_inner_slope(rises[k : k + 2], widths[k : k + 2]) for k in range(len(rises) - 1)]
    first = _end_slope(rises[0], rises[1], widths[0], widths[1])
    last = _end_slope(rises[-1], rises[-2], widths[-1], widths[-2])
    return [(x, y, slope) for (x, y), slope in zip(found, [first, *inner, last], strict=True)]


def _inner_slope(rises: Sequence[float], widths: Sequence[float]) -> float:
    """By Fritsch and Butland: the weighted harmonic mean, or 0 at a turn."""
    if rises[0] * rises[1] <= 0:
        return 0.0
    before, after = 2 * widths[1] + widths[0], widths[1] + 2 * widths[0]
    return (before + after) / (before / rises[0] + after / rises[1])


def _end_slope(rise: float, inner: float, width: float, inner_width: float) -> float:
    """By three points, without a turn between the first two."""
    slope = ((2 * width + inner_width) * rise - width * inner) / (width + inner_width)
    if slope * rise <= 0:
        return 0.0
    return 3 * rise if rise * inner <= 0 and abs(slope) > 3 * abs(rise) else slope


def _integral(curve: Sequence[tuple[float, float, float]], low: float, high: float) -> float:
    """Simpson's rule piece by piece, which is exact for cubics."""
    total = 0.0
    for left, right in pairwise(curve):
        begin, end = max(low, left[0]), min(high, right[0])
        if begin < end:
            middle = (begin + end) / 2
            total += (
                (end - begin) / 6 * (_at(left, right, begin) + 4 * _at(left, right, middle) + _at(left, right, end))
            )
    return total


def _at(left: tuple[float, float, float], right: tuple[float, float, float], x: float) -> float:
    """Hermite's cubic between two points with slopes."""
    width = right[0] - left[0]
    t = (x - left[0]) / width
    return (
        (1 + 2 * t) * (1 - t) ** 2 * left[1]
        + t * (1 - t) ** 2 * width * left[2]
        + t * t * (3 - 2 * t) * right[1]
        + t * t * (t - 1) * width * right[2]
    )
