# SPDX-License-Identifier: BSD-3-Clause
"""How far the median of a few samples can be trusted.

The interval lies between two of the samples themselves: how many of n are below the true median follows the binomial
distribution with one half, whatever the noise (W. J. Conover, Practical Nonparametric Statistics, 1999, section 3.2).
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

from nodewise.statistics.sequential import FEWEST_BLOCKS

_EXACT_UP_TO = 1000


@lru_cache(maxsize=1024)
def _outside(count: int, level: float) -> int:
    """How many of the smallest, and of the largest, samples lie outside; 0 where all of them are needed."""
    tail = (1 - level) / 2
    if count > _EXACT_UP_TO:
        return math.floor(count / 2 + NormalDist().inv_cdf(tail) * math.sqrt(count) / 2)
    below, k = 0.0, 0
    while (below := below + math.comb(count, k) / 2**count) <= tail:
        k += 1
    return max(0, k - 1)


def median_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float] | None:
    """The interval of the median of `values` (n numbers) at `level`; None with too few of them.

    Too few are less than six, or so many that all of them lie on one side of the true median with a chance above 1 - level.
    """
    data = sorted(values)
    if len(data) < FEWEST_BLOCKS or 2.0 ** (1 - len(data)) > 1 - level + 1e-12:
        return None
    out = _outside(len(data), level)
    return float(data[out]), float(data[-1 - out])
