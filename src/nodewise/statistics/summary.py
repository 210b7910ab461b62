# SPDX-License-Identifier: BSD-3-Clause
"""Centre and spread of samples that may hold outliers."""

import statistics
from collections.abc import Sequence


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones. Raises ValueError for no values."""
    if not values:
        raise ValueError("the median of no values")
    return statistics.median(values)


def mad(values: Sequence[float]) -> float:
    """The median absolute deviation from the median, unscaled (times 1.4826 it estimates a normal's sigma).

    Raises ValueError for no values.
    """
    centre = median(values)
    return median([abs(v - centre) for v in values])
