# SPDX-License-Identifier: BSD-3-Clause
"""Times that gather at several places: whether they do, and where."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nodewise.base.frozen import dataclass
from nodewise.statistics.dip import dip_p_value, scaled_dip
from nodewise.statistics.summary import MAD_TO_SIGMA


@dataclass(frozen=True)
class Mode:
    """One mode: the median of its runs in seconds, and their share of all."""

    seconds: float
    share: float


@dataclass(frozen=True)
class Modes:
    """Whether times gather at more than one place, how probable that is of one (`p_value`), and where they do, ascending.

    Where they gather at one place, `modes` holds that one.
    """

    bimodal: bool
    p_value: float
    modes: tuple[Mode, ...]


_FEWEST_FOR_MODES = 10
#: Up to this share of runs apart from the rest are outliers, also where they gather.
_OUTLIERS = 0.15
#: Modes are apart by at least this many standard deviations of the runs around them (Ashman's D, Astronomical Journal 108, 1994:
#: two normals are seen as two above 2; the halves of one lie 2.3 apart, of a uniform 2.7).
_APART = 3.5
#: How large sqrt(n) times the dip must also be, by n: where times that are normal, lognormal, quantised or have 5 to 15%
#: outliers are taken for two modes in at most 2 of 100 series (simulated). The dip's own p-value is that of the uniform,
#: from which two modes five deviations apart can hardly be distinguished by thirty runs; times are rarely uniform, unless they drift.
_DIPS = {10: 0.50, 15: 0.46, 20: 0.43, 30: 0.40, 50: 0.36, 100: 0.33}
_MOST_MODES = 6
#: Cuts whose scatter is no larger than this many times the least are as good.
_HARDLY_MORE = 1.02


def modes(times: Sequence[float]) -> Modes:
    """Whether n times gather at several places, by the dip of their logarithms, and at which.

    Each mode holds more runs than outliers would (a third of 30, a quarter of 100), and they lie apart by several times their
    own spread. Times that a coarse clock has made equal are first spread evenly over its step. Below ten runs nothing is
    said. Times that drift look uniform, of which up to 9% are taken for several modes: ask `drift` first.
    Raises ValueError for no times, or where one is not above zero.
    """
    data = np.sort(np.asarray(times, dtype=float))
    if data.size == 0:
        raise ValueError("the modes of no times")
    if data[0] <= 0:
        raise ValueError("times must be above zero")
    logs = np.log(_spread_ties(data))
    p, parts = _split(logs)
    found = []
    begin = 0
    for part in parts:
        found.append(Mode(float(np.median(data[begin : begin + part])), part / data.size))
        begin += part
    return Modes(len(parts) > 1, p, tuple(found))


def _spread_ties(data: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sorted values, those that are equal spread evenly over the smallest step that there is between different ones."""
    values, first, counts = np.unique(data, return_index=True, return_counts=True)
    if values.size < 2 or counts.max() < 2:
        return data
    step = min(float(np.diff(values).min()), float(values[0]))
    within = (np.arange(data.size) - np.repeat(first, counts) + 0.5) / np.repeat(counts, counts)
    return data + step * (within - 0.5)


def _split(logs: NDArray[np.float64], room: int = _MOST_MODES) -> tuple[float, list[int]]:
    """The p-value of one mode for sorted values, and how many values each mode holds."""
    n = logs.size
    if n < _FEWEST_FOR_MODES or room < 2:
        return 1.0, [n]
    p = dip_p_value(logs)
    if scaled_dip(logs) < np.interp(math.log(n), np.log(list(_DIPS)), list(_DIPS.values())):
        return p, [n]
    for cuts in (_two(logs, _HARDLY_MORE), _three(logs), _two(logs)):
        groups = np.split(logs, cuts)
        large = min(g.size for g in groups) >= _fewest(n)
        if large and all(_apart(a, b) for a, b in itertools.pairwise(groups)):
            parts: list[int] = []
            for later, group in zip(range(len(groups) - 1, -1, -1), groups, strict=True):
                parts += _split(group, room - len(parts) - later)[1]
            return p, parts
    return p, [n]


def _fewest(runs: int) -> float:
    """How many runs make a mode: more than outliers would be by chance (binomial, once in hundred)."""
    return _OUTLIERS * runs + 2.5 * math.sqrt(_OUTLIERS * (1 - _OUTLIERS) * runs)


def _scatter(
    sums: NDArray[np.float64], begin: NDArray[np.int64] | int, end: NDArray[np.int64] | int
) -> NDArray[np.float64]:
    """The sum of absolute deviations from the median of sorted values from `begin` to `end`, by their running sums."""
    begin, end = np.asarray(begin), np.asarray(end)
    middle = begin + (end - begin) // 2
    odd = (end - begin) % 2
    return np.asarray(sums[end] - sums[middle + odd] - (sums[middle] - sums[begin]), dtype=float)


def _two(logs: NDArray[np.float64], more: float = 1.0) -> list[int]:
    """Where sorted values are cut into two groups with the least absolute deviation from their medians, or up to so many times that.

    Of modes at even distances each cut through the second has nearly the same, so of such cuts the one at the widest gap is taken.
    """
    sums = np.concatenate(([0.0], np.cumsum(logs)))
    cuts = np.arange(2, logs.size - 1)
    scatter = _scatter(sums, 0, cuts) + _scatter(sums, cuts, logs.size)
    gaps = np.where(scatter <= more * scatter.min(), logs[cuts] - logs[cuts - 1], -1.0)
    return [int(cuts[np.argmax(gaps)])]


def _three(logs: NDArray[np.float64]) -> list[int]:
    """Where they are cut into three, among at most a few hundred places."""
    sums = np.concatenate(([0.0], np.cumsum(logs)))
    places = np.unique(np.linspace(2, logs.size - 2, min(logs.size - 3, 300)).astype(int))
    first, second = (places[i] for i in np.triu_indices(places.size, 1))
    scatter = _scatter(sums, 0, first) + _scatter(sums, first, second) + _scatter(sums, second, logs.size)
    best = int(np.argmin(scatter))
    return [int(first[best]), int(second[best])]


def _apart(low: NDArray[np.float64], high: NDArray[np.float64]) -> bool:
    a, b = float(np.median(low)), float(np.median(high))
    spread = max(MAD_TO_SIGMA * float(np.median(np.abs(group - centre))) for group, centre in ((low, a), (high, b)))
    return b - a > _APART * spread
