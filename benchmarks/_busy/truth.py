# SPDX-License-Identifier: BSD-3-Clause
"""What a quiet machine would say of two commands, as far as that is known, and what was said held against it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nodewise.statistics.interval import median_interval

#: A truth that is not known better than by this factor is held against nothing.
KNOWN = 1.15


@dataclass(frozen=True)
class Truth:
    """The first's time over the second's on the quiet machine: between these two, which are one where the work is known."""

    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether it is known well enough to hold something against it."""
        return self.high <= KNOWN * self.low


def exactly(ratio: float) -> Truth:
    """A truth that is known from the work that is done."""
    return Truth(ratio, ratio)


def around(*quiet: Sequence[float]) -> Truth:
    """The truth of what ran between several whiles of quiet, each with its ratios: in the 95 % intervals of their medians, or between them.

    Where it moves from one while to the next it is not known what it was in between, but that.
    """
    ends = [median_interval(ratios) or (0.0, math.inf) for ratios in quiet]
    return Truth(min(low for low, _ in ends), max(high for _, high in ends))


@dataclass(frozen=True)
class Said:
    """A verdict on two commands: the word, and the interval of the first's time over the second's where there is one.

    `within` is the difference that counts as none.
    """

    word: str
    low: float | None
    high: float | None
    within: float

    def wrong(self, truth: Truth) -> bool:
        """Whether the word is none that the quiet machine could say."""
        if self.word == "faster":
            return truth.high <= 1
        if self.word == "slower":
            return truth.low >= 1
        return self.word == "no difference" and max(truth.low, 1 / truth.high) - 1 > self.size

    @property
    def size(self) -> float:
        """The size beyond which "no difference" is said to be none: what was asked for, or what the interval leaves open."""
        open_ = 0.0 if not self.low or self.high is None else max(self.high, 1 / self.low) - 1
        return max(self.within, open_)

    def inside(self, truth: Truth) -> bool | None:
        """Whether the interval holds a ratio that may be the quiet truth; None where there is no interval."""
        return None if self.low is None or self.high is None else self.low <= truth.high and truth.low <= self.high
