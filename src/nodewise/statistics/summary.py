# SPDX-License-Identifier: BSD-3-Clause
"""Centre and spread of samples that may hold outliers."""

import bisect
import statistics
from collections.abc import Sequence

#: A normal distribution's standard deviation over its median absolute deviation from the median: 1 / Φ⁻¹(3/4).
MAD_TO_SIGMA = 1.4826


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones. Raises ValueError for no values."""
    if not values:
        raise ValueError("the median of no values")
    return statistics.median(values)


def mad(values: Sequence[float]) -> float:
    """The median absolute deviation from the median, unscaled (times `MAD_TO_SIGMA` it estimates a normal's sigma).

    Raises ValueError for no values.
    """
    centre = median(values)
    return median([abs(v - centre) for v in values])


class Running:
    """Median and MAD of values that come one by one, without sorting all of them again each time."""

    def __init__(self) -> None:
        self._ordered: list[float] = []

    def add(self, value: float) -> None:
        """Take one more."""
        bisect.insort(self._ordered, value)

    def __len__(self) -> int:
        return len(self._ordered)

    @property
    def least(self) -> float:
        """The smallest so far. Raises IndexError for none."""
        return self._ordered[0]

    @property
    def median(self) -> float:
        """As `median` of the values so far. Raises ValueError for none."""
        n = len(self._ordered)
        if not n:
            raise ValueError("the median of no values")
        low, high = self._ordered[(n - 1) // 2], self._ordered[n // 2]
        return high if n % 2 else (low + high) / 2

    @property
    def mad(self) -> float:
        """As `mad` of the values so far. Raises ValueError for none."""
        centre, n = self.median, len(self._ordered)
        split = bisect.bisect_left(self._ordered, centre)
        low, high = (self._nth_deviation(k, centre, split) for k in ((n - 1) // 2, n // 2))
        return high if n % 2 else (low + high) / 2

    def _nth_deviation(self, k: int, centre: float, split: int) -> float:
        """The deviation from the centre that k others are not above: `split` values lie below the centre, the rest not."""
        values = self._ordered
        fewest, most = max(0, k + 1 - (len(values) - split)), min(k + 1, split)
        # how many of the k + 1 nearest lie below
        while fewest < most:
            below = (fewest + most) // 2
            if centre - values[split - 1 - below] < values[split + k - below] - centre:
                fewest = below + 1
            else:
                most = below
        near = [centre - values[split - fewest]] if fewest else []
        near += [values[split + k - fewest] - centre] if fewest <= k else []
        return max(near)
