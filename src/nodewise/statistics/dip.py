# SPDX-License-Identifier: BSD-3-Clause
"""The dip test: whether samples come from a distribution with more than one mode.

J. A. Hartigan, P. M. Hartigan, The Dip Test of Unimodality, Annals of Statistics 13, 1985: the dip is the largest
distance between the samples' distribution and the nearest one with a single mode. Its distribution under the uniform,
the unimodal one that looks most like several modes, decides; what is tabulated here was simulated.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_PROBABILITIES = (0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
#: Quantiles of sqrt(n) times the dip of n uniform samples, from 100 000 simulations each (30 000 from n = 500 on).
_QUANTILES = {
    6: (0.3015, 0.3549, 0.3895, 0.4033, 0.4381, 0.4686, 0.4956, 0.5238, 0.5384),
    8: (0.3142, 0.3478, 0.4026, 0.4364, 0.4708, 0.4898, 0.5067, 0.5286, 0.5500),
    10: (0.3090, 0.3610, 0.4130, 0.4420, 0.4759, 0.5040, 0.5287, 0.5544, 0.5731),
    12: (0.3153, 0.3683, 0.4160, 0.4503, 0.4892, 0.5139, 0.5373, 0.5655, 0.5862),
    15: (0.3236, 0.3716, 0.4252, 0.4597, 0.4992, 0.5261, 0.5512, 0.5770, 0.5976),
    20: (0.3280, 0.3809, 0.4349, 0.4699, 0.5119, 0.5400, 0.5678, 0.5973, 0.6244),
    30: (0.3368, 0.3908, 0.4468, 0.4842, 0.5299, 0.5608, 0.5871, 0.6182, 0.6422),
    50: (0.3454, 0.4003, 0.4582, 0.4969, 0.5412, 0.5737, 0.6035, 0.6346, 0.6620),
    100: (0.3541, 0.4114, 0.4717, 0.5109, 0.5584, 0.5899, 0.6188, 0.6534, 0.6843),
    200: (0.3618, 0.4199, 0.4814, 0.5209, 0.5707, 0.6044, 0.6355, 0.6735, 0.7008),
    500: (0.3682, 0.4267, 0.4899, 0.5306, 0.5813, 0.6133, 0.6446, 0.6780, 0.7101),
    1000: (0.3718, 0.4313, 0.4940, 0.5331, 0.5850, 0.6166, 0.6525, 0.6979, 0.7321),
}
#: Of more samples than this every so-many-th of the sorted ones is taken: the dip of a large sample is that of its quantiles.
_MOST = 1000


def _corners(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[int]:
    """Where the greatest convex function below the points (x, y) touches them; x ascends."""
    kept: list[int] = []
    # numbers of Python's own are reckoned with several times as fast, one at a time
    xs, ys = x.tolist(), y.tolist()
    for i, (right, height) in enumerate(zip(xs, ys, strict=True)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (ys[b] - ys[a]) * (right - xs[a]) < (height - ys[a]) * (xs[b] - xs[a]):
                break
            kept.pop()
        kept.append(i)
    return kept


def dip(values: Sequence[float] | NDArray[np.float64]) -> float:
    """The dip of n samples, between 1 / (2 n) and 1/4. Raises ValueError for no samples.

    The paper's algorithm: between the ends of the interval that may hold the mode, the greatest convex minorant below the
    steps' lower corners and the least concave majorant above their upper ones; the interval shrinks to where they are
    furthest apart, until that is less than what was found outside of it.
    """
    x, counts = np.unique(np.asarray(values, dtype=float), return_counts=True)
    if x.size == 0:
        raise ValueError("the dip of no samples")
    total = counts.sum()
    upper = np.cumsum(counts) / total
    lower = upper - counts / total
    left, right, found = 0, x.size - 1, 1 / float(total)
    while right > left:
        part = slice(left, right + 1)
        xs, low, high = x[part], lower[part], upper[part]
        under, over = _corners(xs, low), _corners(xs, -high)
        convex, concave = np.interp(xs, xs[under], low[under]), np.interp(xs, xs[over], high[over])
        gaps_under, gaps_over = concave[under] - low[under], high[over] - convex[over]
        u, o = int(np.argmax(gaps_under)), int(np.argmax(gaps_over))
        if gaps_under[u] >= gaps_over[o]:
            apart, begin = float(gaps_under[u]), under[u]
            end = next(i for i in over if i >= begin)
        else:
            apart, end = float(gaps_over[o]), over[o]
            begin = next(i for i in reversed(under) if i <= end)
        if apart <= found + 1e-12:
            break
        outside = max(np.max(high[: begin + 1] - convex[: begin + 1]), np.max(concave[end:] - low[end:]))
        found = max(found, float(outside))
        if (begin, end) == (0, xs.size - 1):
            break
        left, right = left + begin, left + end
    return found / 2


def _thinned(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    data = np.sort(np.asarray(values, dtype=float))
    return data if data.size <= _MOST else np.quantile(data, (np.arange(_MOST) + 0.5) / _MOST)


def scaled_dip(values: Sequence[float] | NDArray[np.float64]) -> float:
    """sqrt(n) times the dip, which hardly depends on n where there is one mode. Raises ValueError for no samples."""
    data = _thinned(values)
    return float(np.sqrt(data.size) * dip(data))


def dip_p_value(values: Sequence[float] | NDArray[np.float64]) -> float:
    """How probable a dip as large is in as many samples of one mode: between 0.001 (or less) and 0.5 (or more).

    1 for fewer samples than are tabulated (6), of which nothing can be said.
    """
    data = _thinned(values)
    sizes = np.array(list(_QUANTILES))
    if data.size < sizes[0]:
        return 1.0
    table = np.array(list(_QUANTILES.values()))
    logs = np.log(sizes)
    cuts = [np.interp(np.log(data.size), logs, table[:, j]) for j in range(table.shape[1])]
    return float(1 - np.interp(scaled_dip(data), cuts, _PROBABILITIES))
