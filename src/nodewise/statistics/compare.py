# SPDX-License-Identifier: BSD-3-Clause
"""How many times faster is one setting than another, with an interval.

Runs are paired by block, so what the machine did to a whole block (drift, a slower hour) cancels. In blocks of random
order the log ratios of two settings are symmetric about the true one, whatever the noise (in the balanced orders of
`order`, whatever noise is not in step with them), so each may have either sign about it: the interval holds every
ratio that a sign-flip test does not reject (R. A. Fisher, The Design of Experiments, 1935, section 21). The statistic
is the sum of Tukey's biweight scores of the log ratios in units of their median absolute deviation about the ratio
tested (P. J. Rousseeuw, C. Croux, JASA 88, 1993, on such scales), so that a run that took half as long again says as
little as it knows; the scale is the same for all signs, which keeps the test exact. Up to ten pairs all signs are
enumerated, beyond them the sum's quantile is taken from its second and fourth moments (E. A. Cornish, R. A. Fisher,
1938).
"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nodewise.base.frozen import dataclass
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.statistics.steps import infer_step, spread_ties, widened
from nodewise.statistics.summary import MAD_TO_SIGMA

Array = NDArray[np.float64]

_EXACT_UP_TO = 10
#: Beyond this many standard deviations of normal noise a log ratio says nothing; less would cost width, more lets bursts in.
_REACH = 3.5
#: Among how many places an end is looked for, and how many times.
_REFINED, _REFINEMENTS = 32, 3
#: A ratio farther from the centre than this many spreads has to have this share of the pairs as near to it.
_NEAR, _BACKED = 3.0, 0.25


@dataclass(frozen=True)
class Ratio:
    """`ratio` above 1: the candidate is faster by that factor. `low` is 0 and `high` infinite where n is too small to tell."""

    ratio: float
    low: float
    high: float
    pairs: int

    @property
    def has_interval(self) -> bool:
        """Whether there were enough runs for an interval."""
        return self.low > 0 and math.isfinite(self.high)


def _scores(gaps: Array) -> Array:
    """The biweight score of each gap (a row of them for each ratio tested)."""
    sizes = np.abs(gaps)
    ordered, middle = np.sort(sizes, axis=1), (sizes.shape[1] - 1) / 2
    scale = MAD_TO_SIGMA * (ordered[:, math.floor(middle)] + ordered[:, math.ceil(middle)]) / 2
    # of a coarse clock more than half may be equal
    scale = np.where(scale > 0, scale, np.maximum(sizes.mean(axis=1), 1e-12))[:, None]
    z = gaps / scale
    scores: Array = np.where(np.abs(z) < _REACH, z * (1 - (z / _REACH) ** 2) ** 2, 0.0)
    return scores


@lru_cache(maxsize=16)
def _signs(pairs: int) -> Array:
    """All signs of `pairs` numbers but for a common one: 2^(pairs - 1) × pairs."""
    return np.array([(1.0, *signs) for signs in itertools.product((1.0, -1.0), repeat=pairs - 1)])


def _accepted(logs: Array, tested: Array, alpha: float) -> NDArray[np.bool_]:
    """Which of the log ratios tested the sign-flip test does not reject."""
    scores = _scores(logs[None, :] - tested[:, None])
    total = np.abs(scores.sum(axis=1))
    if logs.size <= _EXACT_UP_TO:
        sums = np.abs(scores @ _signs(logs.size).T)
        share = (sums >= total[:, None] * (1 - 1e-12) - 1e-12).mean(axis=1)
        return np.asarray(share > alpha + 1e-12)
    squares = scores**2
    variance = np.maximum(squares.sum(axis=1), 1e-30)
    excess = -2 * (squares**2).sum(axis=1) / variance**2
    z = NormalDist().inv_cdf(1 - alpha / 2)
    return np.asarray(total <= np.sqrt(variance) * (z + excess * (z**3 - 3 * z) / 24))


def _middle(values: Array) -> float:
    """The median of a row of numbers; NumPy's own takes ten times as long for the dozens that there are."""
    ordered = np.sort(values)
    return (float(ordered[(ordered.size - 1) // 2]) + float(ordered[ordered.size // 2])) / 2


def _centre(logs: Array) -> float:
    """Tukey's biweight location, from the median on."""
    centre = _middle(logs)
    for _ in range(10):
        gaps = logs - centre
        scale = MAD_TO_SIGMA * _middle(np.abs(gaps))
        if scale <= 0:
            break
        weights = np.maximum(1 - (gaps / scale / _REACH) ** 2, 0) ** 2
        centre += float((weights * gaps).sum() / weights.sum())
    return centre


def _held(logs: Array, centre: float, tested: Array, alpha: float) -> NDArray[np.bool_]:
    """Which of the log ratios tested are in the interval: accepted, and not among a few strays only.

    Between the bulk of the pairs and strays the test may accept once more, where there are no pairs at all.
    """
    accepted = _accepted(logs, tested, alpha)
    spread = MAD_TO_SIGMA * _middle(np.abs(logs - centre))
    if spread > 0:
        near = np.abs(logs[None, :] - tested[:, None]) <= _NEAR * spread
        accepted &= (near.mean(axis=1) >= _BACKED) | (np.abs(tested - centre) <= _NEAR * spread)
    return accepted


def _end(logs: Array, centre: float, extreme: float, alpha: float) -> float:
    """The outermost log ratio between the centre and the extreme that the interval holds."""
    spread = MAD_TO_SIGMA * _middle(np.abs(logs - centre))
    side = 1.0 if extreme > centre else -1.0
    fine = np.minimum(np.linspace(0, 4, 33) * spread, abs(extreme - centre))
    steps = np.unique(np.concatenate([fine, np.linspace(0, abs(extreme - centre), 25)]))
    outermost = int(np.flatnonzero(_held(logs, centre, centre + side * steps, alpha)).max(initial=0))
    if outermost == len(steps) - 1:
        return extreme
    inside, outside = float(steps[outermost]), float(steps[outermost + 1])
    for _ in range(_REFINEMENTS):
        steps = np.linspace(inside, outside, _REFINED + 1)
        # the inner end is held, and the outer one is not
        found = int(np.flatnonzero(_accepted(logs, centre + side * steps[1:-1], alpha)).max(initial=-1)) + 1
        inside, outside = float(steps[found]), float(steps[found + 1])
    return centre + side * outside


def holds(
    baseline: Sequence[float], candidate: Sequence[float], ratios: Sequence[float], level: float = 0.95
) -> list[bool]:
    """Whether the interval of `ratio_interval` at this level holds each of `ratios`, as one test for each: quick.

    Of times that the step of a clock widens the interval of, it says less than the interval holds.
    """
    one, other = np.asarray(baseline, dtype=float), np.asarray(candidate, dtype=float)
    one, other = spread_ties(one, other, infer_step(one, other))
    logs = np.log(one) - np.log(other)
    if not _enough(logs.size, level):
        return [True] * len(ratios)
    return [bool(held) for held in _held(logs, _centre(logs), np.log(ratios), 1 - level)]


def _enough(pairs: int, level: float) -> bool:
    """Whether something can be excluded: not where even equal signs of all pairs are no rare luck."""
    return pairs >= FEWEST_BLOCKS and 2.0 ** (1 - pairs) <= 1 - level + 1e-12


def ratio_interval(
    baseline: Sequence[float], candidate: Sequence[float], level: float = 0.95, step: float | None = None
) -> Ratio:
    """Speedup of `candidate` over `baseline`: seconds of the same n blocks in the same order, all above zero.

    `step` is that of the clock or the printed number, in seconds, 0 for none; where it is not known it is inferred from the times. Where
    something may carry over from one run to the next, give the blocks that `carryover.comparable` names. Raises ValueError
    where the lengths differ, there is no pair, or a time is not above zero.
    """
    if len(baseline) != len(candidate) or not baseline:
        raise ValueError(f"pairs are needed: {len(baseline)} and {len(candidate)} times")
    if min(*baseline, *candidate) <= 0:
        raise ValueError("times must be above zero")
    seen = np.asarray(baseline, dtype=float), np.asarray(candidate, dtype=float)
    step = infer_step(*seen) if step is None else step
    one, other = spread_ties(*seen, step)
    logs = np.log(one) - np.log(other)
    centre = _centre(logs)
    if not _enough(logs.size, level):
        return Ratio(math.exp(centre), 0.0, math.inf, logs.size)
    low, high = (math.exp(_end(logs, centre, float(extreme), 1 - level)) for extreme in (logs.min(), logs.max()))
    if step > 0:
        low, high = widened((low, high), *seen, step)
    return Ratio(math.exp(centre), low, high, logs.size)
