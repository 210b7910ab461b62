# SPDX-License-Identifier: BSD-3-Clause
"""Where a series over time has changed its level, with a stated rate of false marks.

Every position of many stretches is tested by Student's t of ranks (W. J. Conover, R. L. Iman, The American Statistician 35, 1981), so
that no outlier counts for more than one rank. The stretches are those of seeded binary segmentation (S. Kovács, H. Li, P. Bühlmann,
A. Munk, Biometrika 110(1), 2023): of all lengths, so that other changes do not hide one. Neighbours in time are alike: t is
divided by the root of (1 + a) / (1 - a) for the autocorrelation `a` of what is left once levels are taken away, that of a
process in which each value depends on the one before it. It is taken twice, with one change and with three taken away: the first sees a late change, the second several.

Critical values are simulated (`tools/critical_changes.py`) for neighbours with an autocorrelation of 0.5, and hold for any continuous
distribution where values are independent, as ranks do not know it. A series that does not change has a mark with a probability of at
most `RATE` up to that autocorrelation, and more rarely where its values are independent. `tests/statistics/test_changes.py` has what was
measured, `python -m tools.critical_changes --power` measures it again.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nodewise.base.frozen import dataclass

Array = NDArray[np.float64]

#: At most this share of series that do not change get a mark.
RATE = 0.05
#: Fewer values than this are not looked at; each side of a change has at least `_SIDE`, each stretch `_STRETCH`.
FEWEST = 12
_SIDE, _STRETCH = 4, 10
#: Longer series are looked at as medians of neighbours, of this many groups at most.
_MOST = 256
#: By how much the groups become smaller, of how many the last values are looked at, and how far a change may be placed from where it is.
_FINER, _LATE, _NEAR = 8, 128, 1
#: So much more is critical where twice as many looks share `RATE`: a normal deviate above four is half as probable with 0.17 more.
_TWICE = 0.2
#: How many changes are taken away before the autocorrelation is taken, and how many n-ths more it is: residuals hide a part of it.
_TAKEN = (1, 3)
_HIDDEN, _HIGHEST = 2.0, 0.9
#: By the number of values, for each of `_TAKEN` what is exceeded at half of `RATE`: printed by tools/critical_changes.py.
_CRITICAL: tuple[tuple[int, float, float], ...] = (
    (12, 3.351, 3.351),
    (14, 3.526, 3.526),
    (16, 3.614, 3.790),
    (20, 3.815, 4.048),
    (25, 3.862, 4.425),
    (32, 3.871, 4.542),
    (40, 3.943, 4.731),
    (50, 3.978, 4.802),
    (64, 3.958, 4.724),
    (90, 4.029, 4.657),
    (128, 4.053, 4.550),
    (180, 4.120, 4.492),
    (256, 4.220, 4.500),
)


@dataclass(frozen=True)
class Change:
    """The value at `first` (from 0) and those after it are of another level than those before: medians of the two stretches."""

    first: int
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """The level after it as a multiple of that before it."""
        return self.after / self.before


def find_changes(values: Sequence[float] | Array, least: float = 0.0) -> tuple[Change, ...]:
    """The changes of a series, in order, between levels that differ by more than the share `least`; values are above zero.

    None of fewer than `FEWEST` values. Raises ValueError for a value that is not above zero, or not finite.
    """
    series = np.asarray(values, dtype=float)
    if series.size and not (np.isfinite(series).all() and series.min() > 0):
        raise ValueError("values must be finite and above zero")
    # a change of late is a part of few groups: the last values are looked at in smaller ones, too
    sizes = [max(1, -(-series.size // _MOST))]
    while sizes[-1] > 1:
        sizes.append(max(1, sizes[-1] // _FINER))
    more = _TWICE * math.log2(len(sizes))
    found: list[int] = []
    for size in sizes:
        start = max(0, series.size - _LATE * size) if size < sizes[0] else 0
        late = [start + at * size for at in _divide(_grouped(series[start:], size), 0, more)]
        found = [at for at in found if all(abs(at - other) > _NEAR * size * _FINER for other in late)] + late
    edges = [0, *sorted(found), series.size]
    exact = [_placed(series, edges[i : i + 3]) for i in range(len(found))]
    return _levels(series, exact, least)


def _grouped(series: Array, size: int) -> Array:
    """Medians of so many neighbours each; a last group of fewer is left to the one before it."""
    if size == 1:
        return series
    made: Array = np.median(series[: series.size // size * size].reshape(-1, size), axis=1)
    return made


def _divide(series: Array, start: int, more: float) -> list[int]:
    """The positions of changes in a part that begins at `start`; what is critical is exceeded by `more`."""
    if series.size < FEWEST:
        return []
    statistics, positions = largest(ranks_of(series)[None, :])
    over = statistics[:, 0] - np.array(critical(series.size)) - more
    if over.max() <= 0:
        return []
    at = int(positions[0])
    return [*_divide(series[:at], start, more), start + at, *_divide(series[at:], start + at, more)]


def _placed(series: Array, edges: Sequence[int]) -> int:
    """A change between those before and after it: where the values are nearest to the medians on their own sides."""
    low, at, high = edges
    before, after = np.median(series[low:at]), np.median(series[at:high])
    further = np.cumsum(np.abs(series[low:high] - before) - np.abs(series[low:high] - after))
    side = min(_SIDE, (high - low) // 2)
    return low + side + int(np.argmin(further[side - 1 : high - low - side]))


def _levels(series: Array, firsts: Sequence[int], least: float) -> tuple[Change, ...]:
    """The changes at these positions, but for those between levels that hardly differ, whose stretches are joined."""
    kept = list(dict.fromkeys(firsts))
    while kept:
        levels = [float(np.median(series[a:b])) for a, b in pairwise([0, *kept, series.size])]
        apart = [max(a, b) / min(a, b) - 1 for a, b in pairwise(levels)]
        if min(apart) > least:
            return tuple(Change(at, a, b) for at, (a, b) in zip(kept, pairwise(levels), strict=True))
        del kept[apart.index(min(apart))]
    return ()


def ranks_of(series: Array) -> Array:
    """Ranks about their middle; of equal values in an order by chance, always the same one, so that their places in time say nothing."""
    shuffled = np.random.default_rng(series.size).permutation(series.size)
    ranks = np.empty(series.size)
    ranks[shuffled[np.argsort(series[shuffled], kind="stable")]] = np.arange(series.size)
    return ranks - (series.size - 1) / 2


def largest(ranks: Array) -> tuple[Array, NDArray[np.int64]]:
    """Of several series, a row each: the largest statistic for each of `_TAKEN`, and the position that it is found at.

    The position is that of the first value after the change, of the statistic with the fewest changes taken away.
    """
    count, n = ranks.shape
    inflation = [np.sqrt((1 + a) / (1 - a)) for a in (_autocorrelation(ranks, taken) for taken in _TAKEN)]
    best = np.zeros((len(_TAKEN), count))
    positions = np.zeros(count, dtype=np.int64)
    for low, high in stretches(n):
        t, at = _best_t(ranks[:, low:high])
        for i, over in enumerate(inflation):
            found = _as_normal(t / over, high - low)
            positions = np.where((found > best[i]) & (i == 0), low + at, positions)
            np.maximum(best[i], found, out=best[i])
    return best, positions


@cache
def stretches(n: int) -> tuple[tuple[int, int], ...]:
    """Seeded intervals of n values: of each length, from the whole down by the root of two, as many as overlap by a half."""
    found = [(0, n)]
    length = n / math.sqrt(2)
    while length >= _STRETCH:
        count = 2 * math.ceil(n / length) - 1
        step = (n - length) / (count - 1)
        found += [(math.floor(i * step), math.ceil(i * step + length - 1e-9)) for i in range(count)]
        length /= math.sqrt(2)
    return tuple((low, min(high, n)) for low, high in found)


def _best_t(part: Array) -> tuple[Array, NDArray[np.int64]]:
    """The largest |t| of the ranks of a stretch, over all positions, and the first value after that position."""
    m = part.shape[1]
    ranks = part.argsort(axis=1).argsort(axis=1) - (m - 1) / 2
    before = np.arange(_SIDE, m - _SIDE + 1)
    between = np.cumsum(ranks, axis=1)[:, _SIDE - 1 : m - _SIDE] ** 2 * m / (before * (m - before))
    at = between.argmax(axis=1)
    most = between[np.arange(len(part)), at]
    whole = m * (m * m - 1) / 12
    return np.sqrt(most * (m - 2) / np.maximum(whole - most, 0.5)), at + _SIDE


def _as_normal(t: Array, m: int) -> Array:
    """Student's t with m - 2 degrees of freedom as a normal deviate (D. L. Wallace, Annals of Mathematical Statistics 30, 1959)."""
    free = m - 2
    made: Array = np.sqrt(free * np.log1p(t * t / free)) * (1 - 3 / (4 * free))
    return made


def _autocorrelation(ranks: Array, taken: int) -> Array:
    """That of neighbours in each series, less its levels: `taken` changes, each where it explains most, are taken away."""
    count, n = ranks.shape
    left = ranks - ranks.mean(axis=1, keepdims=True)
    part = np.zeros((count, n), dtype=np.int64)
    rows, columns = np.arange(count), np.arange(n)
    for number in range(1, taken + 1):
        first = np.zeros((count, n))
        length = np.zeros((count, n))
        for p in range(number):
            inside = part == p
            length += inside * inside.sum(axis=1, keepdims=True)
            first += inside * np.cumsum(inside, axis=1)
        before, whole = first[:, :-1], length[:, :-1]
        sums = np.cumsum(left, axis=1)[:, :-1]
        room = (before >= _SIDE) & (whole - before >= _SIDE)
        gain = np.where(room, sums**2 * whole / np.maximum(before * (whole - before), 1), -1.0)
        at = gain.argmax(axis=1)
        own = (part == part[rows, at][:, None]) & (gain.max(axis=1) > 0)[:, None]
        part = np.where(own & (columns > at[:, None]), number, part)
        for p in range(number + 1):
            inside = part == p
            left -= inside * ((left * inside).sum(axis=1) / np.maximum(inside.sum(axis=1), 1))[:, None]
    found = (left[:, 1:] * left[:, :-1]).sum(axis=1) / np.maximum((left**2).sum(axis=1), 1e-9)
    # of residuals it is too small: M. G. Kendall, Biometrika 41, 1954
    found += _HIDDEN * (1 + 4 * np.maximum(found, 0)) / n
    clipped: Array = np.clip(found, 0, _HIGHEST)
    return clipped


@cache
def critical(n: int) -> tuple[float, float]:
    """What the largest statistics of n values exceed with a probability of half of `RATE` each where nothing changes."""
    at = bisect.bisect_left([size for size, _, _ in _CRITICAL], n)
    # between two sizes the larger value, which errs on the safe side
    near = _CRITICAL[max(0, at - 1) : at + 1]
    return max(one for _, one, _ in near), max(several for _, _, several in near)
