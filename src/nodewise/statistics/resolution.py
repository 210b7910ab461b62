# SPDX-License-Identifier: BSD-3-Clause
"""Resolution: which differences can be distinguished from noise, by how many runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from nodewise.base.frozen import dataclass
from nodewise.statistics.compare import Ratio
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.statistics.summary import MAD_TO_SIGMA

#: How much more runs the interval of biweight scores needs than a t-test under normal noise: the inverse of its asymptotic
#: relative efficiency, E[score']^2 / E[score^2] at a reach of 3.5 deviations (`compare`).
_SCORE_COST = 1.166
#: More pairs than this are not worth naming.
MOST_MORE = 5000
#: The fewest windows without overlap that must fit, or nothing is said of their length.
_FEWEST_WINDOWS = 5


def pairs_to_narrow(ratio: Ratio, pairs: int, wanted: float) -> int:
    """How many pairs more than `pairs` would narrow a ratio's interval to `wanted` on either side, in log ratio: it narrows with
    the root of their number. MOST_MORE at most, also where `wanted` is not above zero.
    """
    if wanted <= 0:
        return MOST_MORE
    half = math.log(ratio.high / ratio.low) / 2
    return math.ceil(min(MOST_MORE, pairs * ((half / wanted) ** 2 - 1)))


@dataclass(frozen=True)
class Noise:
    """How runs of `seconds` vary: `mad` is the median absolute deviation, `worst` the largest slow-down, both as shares of the median."""

    seconds: float
    mad: float
    worst: float
    windows: int


def window_noise(series: Sequence[Sequence[float]], seconds: float) -> Noise | None:
    """The noise of runs of `seconds`, from times of equal pieces of work in their order, one series a processor.

    A run is as many pieces as take `seconds` on the average. Every window of that many is compared with the median
    window of its own series, so that a slower processor counts as no noise; windows start a tenth of their length after
    one another. None where fewer than five fit into each series without overlap: what was not seen is not
    extrapolated, since noise need not average out.
    """
    deviations, windows = [], 0
    for times in series:
        data = np.asarray(times, dtype=float)
        total = float(data.sum())
        length = round(data.size * seconds / total) if total > 0 else 0
        # what was planned as five of them may end a little early
        fitting = round(data.size / length, 1) if length else 0.0
        if fitting < _FEWEST_WINDOWS or data.size < length + 2:
            return None
        sums = np.concatenate(([0.0], np.cumsum(data)))
        starts = np.arange(0, data.size - length + 1, max(1, length // 10))
        runs = sums[starts + length] - sums[starts]
        deviations.append(runs / np.median(runs) - 1)
        windows += int(fitting)
    if not deviations:
        return None
    pooled = np.concatenate(deviations)
    return Noise(seconds, float(np.median(np.abs(pooled))), float(pooled.max()), windows)


def _deviations(power: float, level: float) -> tuple[float, float]:
    """How many standard errors away a difference must be, and how many runs it costs that the noise is estimated too."""
    edge = NormalDist().inv_cdf((1 + level) / 2)
    return edge + NormalDist().inv_cdf(power), edge**2 / 2


def runs_needed(mad: float, difference: float, power: float = 0.9, level: float = 0.95) -> int:
    """How many runs of each of two settings show a difference of this share, with this probability.

    `mad` is the median absolute deviation of one run, as a share. The interval is that of `compare.ratio_interval`: of
    paired log ratios, whose variance is twice that of a run. The number is that of a paired t-test (W. C. Guenther, The
    American Statistician 35, 1981), times what robust scores cost. Never below the fewest that can decide.
    Raises ValueError where the difference is not above zero.
    """
    if difference <= 0:
        raise ValueError("a difference must be above zero")
    wanted, estimated = _deviations(power, level)
    runs = _SCORE_COST * 2 * (wanted * MAD_TO_SIGMA * mad / math.log1p(difference)) ** 2 + estimated
    return max(FEWEST_BLOCKS, math.ceil(runs))


def smallest_difference(mad: float, runs: int, power: float = 0.9, level: float = 0.95) -> float:
    """The difference, as a share, that `runs` runs of each distinguish; the inverse of `runs_needed`.

    Raises ValueError below the fewest runs that can decide.
    """
    if runs < FEWEST_BLOCKS:
        raise ValueError(f"{FEWEST_BLOCKS} runs of each are the fewest that can decide, not {runs}")
    wanted, estimated = _deviations(power, level)
    return math.expm1(wanted * MAD_TO_SIGMA * mad * math.sqrt(2 * _SCORE_COST / (runs - estimated)))
