# SPDX-License-Identifier: BSD-3-Clause
"""Values that lie apart from those of their peers: robust deviations, and the bound beyond which one is named.

The centre is the median and the spread 1.4826 MAD, of the whole group. The bound is that of a normal distribution at the level that all
tests together leave to one, raised for what is not known of the spread in small groups (Student's t with the information that a MAD has, 37 %
of a normal sample's), and for tails that are heavier than a normal distribution's: how much heavier is read from the quartile and the outer
3 % of the same side, as the exponent of a Weibull tail (J. Beirlant et al., Statistics of Extremes, 2004, 4.2). What is `SURE` deviations out is
always named, but where a tenth of the group or more is out there: such are another kind (busy and idle nodes, say), and what is named lies beyond them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from nodewise.statistics.summary import median

#: So many robust deviations away a value is always named, in groups that tell at all.
SURE = 8.0
#: Fewer values say nothing of a spread.
FEWEST = 8
#: From so many on the tail is looked at, and `SURE` holds.
_TELLING_TAIL, _TELLING = 200, 20
#: From this share on what lies apart is no exception.
_KIND = 0.1
#: Another kind may lie across the bound; in half its distance there is no tenth of any group of one kind.
_FAR = 0.5
_MAD_TO_SIGMA = 1.4826
_EFFICIENCY = 0.37
_QUARTILE, _OUTER = 0.25, 0.03
_NORMAL = NormalDist()
#: The exponent by which a normal distribution's quantiles grow between these two, as a Weibull tail's would.
_SPAN = math.log(math.log(2 * _OUTER) / math.log(2 * _QUARTILE))
_NORMAL_GROWTH = math.log(_NORMAL.inv_cdf(1 - _OUTER) / _NORMAL.inv_cdf(1 - _QUARTILE)) / _SPAN


@dataclass(frozen=True)
class Bulk:
    """Where most of a group lies: its centre and spread, and the bounds below and above in spreads; none where it is too small."""

    centre: float
    spread: float
    low: float
    high: float

    def deviation(self, value: float) -> float:
        """How many spreads a value is above the centre."""
        return (value - self.centre) / self.spread

    def lies_apart(self, value: float, side: str) -> bool:
        """Whether it is beyond a bound of that side: `low`, `high` or `both`."""
        d = self.deviation(value)
        return (side != "low" and d > self.high) or (side != "high" and d < -self.low)


def bulk(values: Sequence[float], step: float, tests: int, level: float = 0.05) -> Bulk | None:
    """The bulk of a group's values, where `tests` values of all groups and rules share the error `level`; None for fewer than `FEWEST`.

    `step` is the least spread that counts: a resolution, or what nobody cares about.
    """
    if len(values) < FEWEST:
        return None
    ordered = sorted(values)
    centre = median(ordered)
    spread = max(_MAD_TO_SIGMA * median([abs(v - centre) for v in ordered]), step)
    each = level / max(1, tests)
    bound = student_quantile(each, max(1.0, _EFFICIENCY * (len(ordered) - 1)))
    if len(ordered) < _TELLING:
        return _beyond_other_kinds(ordered, Bulk(centre, spread, bound, bound))
    reach = math.log(each) / math.log(2 * _QUARTILE)
    high = min(SURE, bound * reach ** _heavier(ordered, centre, 1))
    low = min(SURE, bound * reach ** _heavier(ordered, centre, -1))
    return _beyond_other_kinds(ordered, Bulk(centre, spread, low, high))


def _beyond_other_kinds(ordered: Sequence[float], b: Bulk) -> Bulk:
    """The bulk with a bound beyond those that are too many to be exceptions, by as much as it was beyond the centre."""
    fewest = max(2, math.ceil(_KIND * len(ordered)))
    high, low = b.high, b.low
    if b.deviation(ordered[-fewest]) > high * _FAR:
        high += b.deviation(ordered[-1 - round(_OUTER * (len(ordered) - 1))])
    if -b.deviation(ordered[fewest - 1]) > low * _FAR:
        low -= b.deviation(ordered[round(_OUTER * (len(ordered) - 1))])
    return Bulk(b.centre, b.spread, low, high)


def _heavier(ordered: Sequence[float], centre: float, sign: int) -> float:
    """By how much the tail's quantiles grow faster than a normal distribution's, as an exponent; 0 for lighter ones and small groups."""
    n = len(ordered)
    if n < _TELLING_TAIL:
        return 0.0

    def reach(share: float) -> float:
        place = round(share * (n - 1))
        return sign * ((ordered[n - 1 - place] if sign > 0 else ordered[place]) - centre)

    inner, outer = reach(_QUARTILE), reach(_OUTER)
    return 0.0 if inner <= 0 or outer <= inner else max(0.0, math.log(outer / inner) / _SPAN - _NORMAL_GROWTH)


def student_quantile(two_sided: float, freedom: float) -> float:
    """The bound that Student's t exceeds to either side with that probability (G. W. Hill, Algorithm 396, CACM 13, 1970)."""
    p, n = two_sided, freedom
    if n < 1.5:
        return 1 / math.tan(p * math.pi / 2)
    if n < 2.5:
        return math.sqrt(2 / (p * (2 - p)) - 2)
    a = 1 / (n - 0.5)
    b = 48 / (a * a)
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * n
    y = (d * p) ** (2 / n)
    if y > 0.05 + a:
        x = -_NORMAL.inv_cdf(p / 2)
        y = x * x
        if n < 5:
            c += 0.3 * (n - 4.5) * (x + 0.6)
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        y = math.expm1(a * y * y)
    else:
        y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (n + 1) / (
            n + 2
        ) + 1 / y
    return math.sqrt(n * y)
