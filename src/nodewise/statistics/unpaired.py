# SPDX-License-Identifier: BSD-3-Clause
"""How many times faster than an earlier series, where the runs were not interleaved.

The centre is the median of all pairwise log ratios, the interval is got by inverting the Mann-Whitney test (J. L. Hodges,
E. L. Lehmann, Annals of Mathematical Statistics 34, 1963). It holds for independent runs; what the machine did to all of
one series (another day, another load) no interval can distinguish from a difference.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from nodewise.statistics.compare import Ratio
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.statistics.steps import infer_step, widened

#: The exact distribution is counted up to this many pairs of runs; beyond, the normal approximation is good to 0.1%.
_EXACT_UP_TO = 2500
#: Longer series are thinned evenly: the interval is narrow enough, and all pairs would fill the memory.
_MOST = 2000


@lru_cache(maxsize=64)
def _cut(first: int, second: int, level: float) -> int:
    """How many of the smallest pairwise differences lie outside; -1 where there are too few runs.

    The largest k with P(U < k) <= (1 - level) / 2 (H. B. Mann, D. R. Whitney, 1947).
    """
    tail = (1 - level) / 2
    if first * second <= _EXACT_UP_TO:
        # the Gaussian binomial coefficient: product of (1 - q^(second + i)) / (1 - q^i)
        counts = np.zeros(first * second + 1)
        counts[0] = 1.0
        for i in range(1, first + 1):
            grown = counts.copy()
            grown[second + i :] -= counts[: counts.size - second - i]
            for j in range(i, counts.size):
                grown[j] += grown[j - i]
            counts = grown
        below = np.cumsum(counts) / math.comb(first + second, first)
        return int(np.searchsorted(below, tail, side="right")) - 1
    from statistics import NormalDist

    mean = first * second / 2
    deviation = math.sqrt(first * second * (first + second + 1) / 12)
    return math.floor(mean + NormalDist().inv_cdf(tail) * deviation - 0.5)


def unpaired_interval(
    baseline: Sequence[float], candidate: Sequence[float], level: float = 0.95, step: float | None = None
) -> Ratio:
    """Speedup of `candidate` over `baseline`: seconds of n and m independent runs, all above zero.

    No interval of fewer than six runs of either; `step` as in `compare.ratio_interval`. Raises ValueError where a series is empty or a time is not above zero.
    """
    if not baseline or not candidate:
        raise ValueError(f"both series need runs: {len(baseline)} and {len(candidate)}")
    if min(*baseline, *candidate) <= 0:
        raise ValueError("times must be above zero")
    seen = np.asarray(baseline, dtype=float), np.asarray(candidate, dtype=float)
    one, other = (np.log(_thin(times)) for times in seen)
    differences = np.sort((one[:, None] - other[None, :]).ravel())
    fewest = min(one.size, other.size)
    cut = _cut(one.size, other.size, level) if fewest >= FEWEST_BLOCKS else -1
    ratio = math.exp(float(np.median(differences)))
    if cut < 0:
        return Ratio(ratio, 0.0, math.inf, fewest)
    low, high = math.exp(differences[cut]), math.exp(differences[-1 - cut])
    step = infer_step(*seen) if step is None else step
    if step > 0:
        low, high = widened((low, high), *seen, step)
    return Ratio(ratio, low, high, fewest)


def _thin(values: np.ndarray) -> np.ndarray:
    return values if values.size <= _MOST else values[np.linspace(0, values.size - 1, _MOST).astype(int)]
