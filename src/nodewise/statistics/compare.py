# SPDX-License-Identifier: BSD-3-Clause
"""How many times faster is one setting than another, with an interval.

Runs are paired by block, so what the machine did to a whole block (drift, a slower hour) cancels. The centre is the
median of all pairwise averages of the log ratios, the interval is got by inverting Wilcoxon's signed-rank test (J. L.
Hodges, E. L. Lehmann, Annals of Mathematical Statistics 34, 1963; exact for any n). Why not the bootstrap of medians: in
blocks of random order two equal settings give log ratios symmetric about zero whatever the noise, so this interval
misses 1 at most as often as promised, from six blocks on, where percentiles of a resampled median are too narrow.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

_EXACT_UP_TO = 60
#: Above this many pairs the averages are counted, not listed: they would fill the memory.
_ALL_PAIRS_UP_TO = 400


@dataclass(frozen=True)
class Ratio:
    """`ratio` above 1: the candidate is faster by that factor. `low` is 0 and `high` infinite where n is too small to tell."""

    ratio: float
    low: float
    high: float
    pairs: int


@lru_cache(maxsize=256)
def _rank_cut(pairs: int, level: float) -> int:
    """How many of the smallest (and largest) pairwise averages lie outside the interval; -1 where n is too small.

    The largest k with P(T < k) <= (1 - level) / 2, T the signed-rank statistic under symmetry.
    """
    tail = (1 - level) / 2
    if pairs <= _EXACT_UP_TO:
        # counts[t]: in how many of the 2^n sign patterns the positive ranks add up to t
        total = pairs * (pairs + 1) // 2
        counts = np.zeros(total + 1)
        counts[0] = 1.0
        for rank in range(1, pairs + 1):
            counts[rank:] += counts[:-rank].copy()
        below = np.cumsum(counts) / 2.0**pairs
        return int(np.searchsorted(below, tail, side="right")) - 1
    mean = pairs * (pairs + 1) / 4
    deviation = math.sqrt(pairs * (pairs + 1) * (2 * pairs + 1) / 24)
    return math.floor(mean + NormalDist().inv_cdf(tail) * deviation - 0.5)


def ratio_interval(baseline: Sequence[float], candidate: Sequence[float], level: float = 0.95) -> Ratio:
    """Speedup of `candidate` over `baseline`: seconds of the same n blocks in the same order, all above zero.

    Raises ValueError where the lengths differ, there is no pair, or a time is not above zero.
    """
    if len(baseline) != len(candidate) or not baseline:
        raise ValueError(f"pairs are needed: {len(baseline)} and {len(candidate)} times")
    if min(*baseline, *candidate) <= 0:
        raise ValueError("times must be above zero")
    logs = np.log(np.asarray(baseline, dtype=float)) - np.log(np.asarray(candidate, dtype=float))
    cut = _rank_cut(logs.size, level)
    total = logs.size * (logs.size + 1) // 2
    middle = (total - 1) // 2, total // 2
    ends = (0, 0) if cut < 0 else (cut, total - 1 - cut)
    *centre, first, last = _averages(logs, (*middle, *ends))
    low, high = (0.0, math.inf) if cut < 0 else (math.exp(first), math.exp(last))
    return Ratio(math.exp(sum(centre) / 2), low, high, logs.size)


def _averages(logs: npt.NDArray[np.float64], ranks: Sequence[int]) -> list[float]:
    """The pairwise averages (each with itself, too) of the given ranks, counted from 0 in ascending order."""
    if logs.size <= _ALL_PAIRS_UP_TO:
        rows, columns = np.triu_indices(logs.size)
        averages = np.sort((logs[rows] + logs[columns]) / 2)
        return [float(averages[rank]) for rank in ranks]
    ordered = np.sort(logs)
    before = np.arange(ordered.size)

    def count(at: float) -> int:
        # for each value, how many not before it give an average of at most `at`
        return int(np.maximum(np.searchsorted(ordered, 2 * at - ordered, side="right") - before, 0).sum())

    found = []
    for rank in ranks:
        low, high = float(ordered[0]), float(ordered[-1])
        while high - low > 1e-13 * max(1.0, abs(low)):
            middle = (low + high) / 2
            low, high = (low, middle) if count(middle) > rank else (middle, high)
        found.append(high)
    return found
