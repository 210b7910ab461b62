# SPDX-License-Identifier: BSD-3-Clause
"""What the order of runs shows: times that drift, and a first run unlike the others."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nodewise.base.frozen import dataclass
from nodewise.statistics.summary import MAD_TO_SIGMA

_NORMAL = NormalDist()


@dataclass(frozen=True)
class Drift:
    """A trend over the order of runs: `slope` is the change in one run, `size` that over all of them, as shares of the median.

    `p_value` is the probability of a trend this strong where there is none; `found` whether that is below what was asked.
    """

    slope: float
    size: float
    p_value: float
    found: bool


#: Of longer series the medians of this many neighbouring groups are looked at, since all pairs are compared.
_MOST_RUNS = 600
_FEWEST_FOR_DRIFT = 6


def drift(times: Sequence[float], alpha: float = 0.01) -> Drift:
    """Whether times rise or fall from run to run. `times` are seconds in the order of the runs, all above zero.

    The slope is the median of those between all pairs, of logarithms (H. Theil 1950; P. K. Sen, Journal of the American
    Statistical Association 63, 1968); the test is Mann's and Kendall's with ties (M. G. Kendall, Rank Correlation Methods,
    1975), its variance raised where neighbouring runs are alike (K. H. Hamed, A. R. Rao, Journal of Hydrology 204, 1998),
    since a burst is no trend. Fewer than six runs show nothing. Raises ValueError where a time is not above zero.
    """
    data = np.asarray(times, dtype=float)
    if data.size and data.min() <= 0:
        raise ValueError("times must be above zero")
    runs = data.size
    if runs < _FEWEST_FOR_DRIFT:
        return Drift(0.0, 0.0, 1.0, False)
    logs = np.log(data)
    step = 1.0
    if runs > _MOST_RUNS:
        groups = np.array_split(logs, _MOST_RUNS)
        logs, step = np.array([float(np.median(g)) for g in groups]), runs / _MOST_RUNS
    n = logs.size
    rows, columns = np.triu_indices(n, 1)
    rises = logs[columns] - logs[rows]
    slope = float(np.median(rises / (columns - rows)))
    score = float(np.sign(rises).sum())
    ties = np.unique(logs, return_counts=True)[1]
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    if variance <= 0 or score == 0:
        return Drift(0.0, 0.0, 1.0, False)
    variance *= _likeness(logs - slope * np.arange(n))
    z = (abs(score) - 1) / math.sqrt(variance)
    p = 2 * (1 - _NORMAL.cdf(z))
    return Drift(math.expm1(slope / step), math.expm1(slope * (n - 1)), p, p < alpha)


def _likeness(residuals: NDArray[np.float64]) -> float:
    """By how much the variance of Kendall's score grows where runs are like those before them; never below 1."""
    n = residuals.size
    ranks = np.argsort(np.argsort(residuals, kind="stable"), kind="stable").astype(float)
    ranks -= ranks.mean()
    power = float((ranks**2).sum())
    total = 0.0
    for lag in range(1, max(2, n // 4)):
        alike = float((ranks[lag:] * ranks[:-lag]).sum()) / power
        # at the first lag that chance explains, what follows is chance too
        if alike <= _NORMAL.inv_cdf(0.95) / math.sqrt(n):
            break
        total += (n - lag) * (n - lag - 1) * (n - lag - 2) * alike
    return 1 + 2 * total / (n * (n - 1) * (n - 2))


_FEWEST_FOR_FIRST = 5
_FAR = 6.0
#: Nearer than this nobody asks.
_LEAST_FIRST = 0.005


def first_run_differs(times: Sequence[float]) -> float | None:
    """By which share the first run is off the median of the others, above zero where it was slower; None where it is not.

    It is off where it lies outside of all others, by more than six of their standard deviations (by the MAD; more of few)
    from their median and by half a percent. Of fewer than five runs nothing is said. Raises ValueError where a time is not above zero.
    """
    if times and min(times) <= 0:
        raise ValueError("times must be above zero")
    if len(times) < _FEWEST_FOR_FIRST:
        return None
    first, rest = times[0], np.asarray(times[1:], dtype=float)
    centre = float(np.median(rest))
    deviation = MAD_TO_SIGMA * float(np.median(np.abs(rest - centre)))
    off = first / centre - 1
    outside = first > rest.max() or first < rest.min()
    # of few runs the deviation is not well known
    far = _FAR * (1 + 4 / rest.size) * deviation
    if outside and abs(first - centre) > far and abs(off) > _LEAST_FIRST:
        return off
    return None
