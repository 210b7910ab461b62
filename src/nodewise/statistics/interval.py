# SPDX-License-Identifier: BSD-3-Clause
"""Bootstrap intervals: how far the centre of a few samples can be trusted.

Percentile method (B. Efron, R. Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).
"""

from collections.abc import Sequence

import numpy as np

RESAMPLES = 2000


def bootstrap_median(
    values: Sequence[float], level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """The interval of the median of `values` (n numbers) at `level`, from resampling them `resamples` times.

    Equal input gives equal output. Of fewer than two values there is no interval: it is the value twice.
    Raises ValueError for no values.
    """
    data = np.asarray(values, dtype=float)
    if data.size == 0:
        raise ValueError("the interval of no values")
    if data.size == 1:
        return float(data[0]), float(data[0])
    draws = np.random.default_rng(seed).integers(0, data.size, size=(resamples, data.size))
    medians = np.median(data[draws], axis=1)
    low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
