# SPDX-License-Identifier: BSD-3-Clause
"""Values that lie apart from those of their peers: robust deviations, and the bound beyond which one is named.

The centre is the median of the whole group. Each side has a spread of its own, as what is measured of machines is skewed (speeds below, temperatures
above): 1.4826 MAD, or where that is more the same of that side's values alone, or from 50 values on the distance of the side's outer tenth over a normal
distribution's. On skewed data one spread for both sides would name sound nodes: of a gamma distribution's tail one in 15 000 is 8 such out.
The bound is that of a normal distribution at the level that all tests together leave to one, raised for what is not known of the spread in small groups
(Student's t with the information that a MAD has, 37% of a normal sample's), and for tails that are heavier than a normal distribution's: how much heavier
is read from the quartile and the outer 3% of the same side, as the exponent of a Weibull tail (J. Beirlant et al., Statistics of Extremes, 2004, 4.2); groups
that are too small to show it are given a logistic distribution's, as temperatures and speeds have.
What is `SURE` deviations out is always named, but where a tenth of the group or more is out there: such are another kind (busy and idle nodes, say), and
what is named lies beyond them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

from nodewise.base.frozen import dataclass
from nodewise.statistics.summary import MAD_TO_SIGMA, median

#: So many robust deviations away a value is always named, in groups that tell at all.
SURE = 8.0
#: Fewer values say nothing of a spread.
FEWEST = 8
#: From so many on the tail is looked at, the outer tenth of a side, and `SURE` holds.
_TELLING_TAIL, _TELLING_TENTH, _TELLING = 50, 50, 20
#: From this share on what lies apart is no exception.
_KIND = 0.1
#: Another kind may lie across the bound; in half its distance there is no tenth of any group of one kind.
_FAR = 0.5
_EFFICIENCY = 0.37
_QUARTILE, _TENTH, _OUTER = 0.25, 0.1, 0.03
_NORMAL = NormalDist()
#: An exponential distribution's long side is 1.8 times as wide as its MAD says; what is wider is no tail.
_SKEWED = 2.0
#: A tail that is heavier than normal by its outer 3% is more so further out, where it is a mixture: noise and something else.
_FURTHER = 2.7
#: How much heavier a tail is taken to be that cannot be seen, by the same exponent: a logistic distribution's. In groups of so many it is seen in part.
_UNSEEN, _SEEN_FROM = 0.24, 500
#: The exponent by which a normal distribution's quantiles grow between these two, as a Weibull tail's would.
_SPAN = math.log(math.log(2 * _OUTER) / math.log(2 * _QUARTILE))
_NORMAL_GROWTH = math.log(_NORMAL.inv_cdf(1 - _OUTER) / _NORMAL.inv_cdf(1 - _QUARTILE)) / _SPAN


@dataclass(frozen=True)
class Bulk:
    """Where most of a group lies: its centre, the spreads below and above it, and the bounds below and above in these spreads.

    `beyond_low` and `beyond_high` say by how much a bound was moved out, beyond another kind.
    """

    centre: float
    spread_below: float
    spread_above: float
    low: float
    high: float
    beyond_low: float = 0.0
    beyond_high: float = 0.0

    def deviation(self, value: float) -> float:
        """How many spreads of its side a value is above the centre."""
        return (value - self.centre) / (self.spread_above if value > self.centre else self.spread_below)

    def lies_apart(self, value: float, side: str) -> bool:
        """Whether it is beyond a bound of that side: `low`, `high` or `both`."""
        d = self.deviation(value)
        return (side != "low" and d > self.high) or (side != "high" and d < -self.low)

    def is_another_kind(self, value: float, side: str) -> bool:
        """Whether it would lie apart, were it not one of many that do."""
        d = self.deviation(value)
        apart = (side != "low" and d > self.high - self.beyond_high) or (
            side != "high" and d < -(self.low - self.beyond_low)
        )
        return apart and not self.lies_apart(value, side)


def bulk(values: Sequence[float], step: float, tests: int, level: float = 0.05, kinds: bool = True) -> Bulk | None:
    """The bulk of a group's values, where `tests` values of all groups and rules share the error `level`; None for fewer than `FEWEST`.

    `step` is the least spread that counts: a resolution, or what nobody cares about. `kinds`: a tenth of the group that lies apart is another kind, not a fault.
    """
    if len(values) < FEWEST:
        return None
    ordered = sorted(values)
    centre = median(ordered)
    least = max(MAD_TO_SIGMA * median([abs(v - centre) for v in ordered]), step)
    below, above = (_spread_of_side(ordered, centre, sign, least) for sign in (-1, 1))
    each = level / max(1, tests)
    bound = student_quantile(each, max(1.0, _EFFICIENCY * (len(ordered) - 1)))
    if len(ordered) < _TELLING:
        found = Bulk(centre, below, above, bound, bound)
        return _beyond_other_kinds(ordered, found) if kinds else found
    reach = math.log(each) / math.log(2 * (_QUARTILE if len(ordered) < _TELLING_TENTH else _TENTH))
    high = min(SURE, bound * reach ** _heavier(ordered, centre, 1))
    low = min(SURE, bound * reach ** _heavier(ordered, centre, -1))
    found = Bulk(centre, below, above, low, high)
    return _beyond_other_kinds(ordered, found) if kinds else found


def _spread_of_side(ordered: Sequence[float], centre: float, sign: int, least: float) -> float:
    """The spread of the values on one side of the centre, as a standard deviation; that of both, `least`, where it is no wider or shows another kind."""
    found = MAD_TO_SIGMA * median([abs(v - centre) for v in ordered if (v - centre) * sign >= 0])
    if len(ordered) >= _TELLING_TENTH:
        found = max(found, _reach(ordered, centre, sign, _TENTH) / _NORMAL.inv_cdf(1 - _TENTH))
    return found if least < found <= _SKEWED * least else least


def _reach(ordered: Sequence[float], centre: float, sign: int, share: float) -> float:
    """How far from the centre the outer `share` of the values begins on one side."""
    place = round(share * (len(ordered) - 1))
    return sign * ((ordered[-1 - place] if sign > 0 else ordered[place]) - centre)


def _beyond_other_kinds(ordered: Sequence[float], b: Bulk) -> Bulk:
    """The bulk with a bound beyond those that are too many to be exceptions, by as much as it was beyond the centre."""
    fewest = max(2, math.ceil(_KIND * len(ordered)))
    high = low = 0.0
    if b.deviation(ordered[-fewest]) > b.high * _FAR:
        high = b.deviation(ordered[-1 - round(_OUTER * (len(ordered) - 1))])
    if -b.deviation(ordered[fewest - 1]) > b.low * _FAR:
        low = -b.deviation(ordered[round(_OUTER * (len(ordered) - 1))])
    return replace(b, low=b.low + low, high=b.high + high, beyond_low=low, beyond_high=high)


def _heavier(ordered: Sequence[float], centre: float, sign: int) -> float:
    """By how much the tail's quantiles grow faster than a normal distribution's, as an exponent; what small groups do not show is taken for a logistic one's."""
    unseen = _UNSEEN * min(1.0, _SEEN_FROM / len(ordered))
    if len(ordered) < _TELLING_TAIL:
        return unseen
    inner, outer = (_reach(ordered, centre, sign, share) for share in (_QUARTILE, _OUTER))
    if inner <= 0 or outer <= inner:
        return unseen
    return max(unseen, _FURTHER * (math.log(outer / inner) / _SPAN - _NORMAL_GROWTH))


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
