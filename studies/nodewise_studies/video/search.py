# SPDX-License-Identifier: BSD-3-Clause
"""The setting at which an encoder comes nearest to a wanted PSNR, found by few encodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

#: A search ends where it is so near to the wanted PSNR, or after so many encodes.
_NEAR_DB = 0.25
_MOST = 6
#: Between a quality's `start` and what is `finer`, before anything is known of the clip.
_GUESS_DB = 4
#: The farthest that one step goes beyond what was tried, in distances from `start` to `finer`.
_FARTHEST = 3
#: The share of a bracket that is left at either end: interpolation alone may creep along one of them.
_MARGIN = 0.1


class RefusedError(RuntimeError):
    """An encoder gave up, or what it made is not the clip."""


@dataclass(frozen=True)
class Quality:
    """FFmpeg's option that sets an encoder's quality: its coarsest and finest values, where a search begins, and what is
    about 4 dB finer than that. Values are multiples of `step`. Where larger ones are finer they are bits a second.
    """

    option: str
    coarsest: float
    start: float
    finer: float
    finest: float
    step: float = 1.0

    def finesse(self, value: float) -> float:
        """A number that grows about as PSNR does: bits' logarithm, and quantizers turned round."""
        return math.log(value) if self.coarsest < self.finest else -value

    def value(self, finesse: float) -> float:
        """The value of such a number, which the option can have."""
        return self._allowed(math.exp(finesse) if self.coarsest < self.finest else -finesse)

    def neighbour(self, value: float, finer: bool) -> float:
        """The next value on one side; at the end itself."""
        up = (self.coarsest < self.finest) == finer
        return self._allowed(value + (self.step if up else -self.step))

    def _allowed(self, value: float) -> float:
        low, high = sorted([self.coarsest, self.finest])
        return round(round(min(max(value, low), high) / self.step) * self.step, 6)


def search(quality: Quality, measure: Callable[[float], float], wanted: float) -> float:
    """The value whose PSNR by `measure`, in dB, is nearest to the wanted one of those tried, at most six.

    Ends where it is within 0.25 dB, where no value is left between neighbours or beyond the last, or where the encoder
    refuses a value. Raises RefusedError where it refuses the first one.
    """
    tried: dict[float, float] = {}
    value = quality.start
    while value not in tried and len(tried) < _MOST:
        try:
            tried[value] = measure(value)
        except RefusedError:
            if not tried:
                raise
            break
        if abs(tried[value] - wanted) <= _NEAR_DB:
            return value
        value = _next(quality, tried, wanted)
    return min(tried, key=lambda one: abs(tried[one] - wanted))


def curve_values(quality: Quality, found: float, count: int) -> list[float]:
    """So many settings about one that was found, the coarsest first, from about 4 dB below it to 4 dB above; fewer near an end."""
    unit = quality.finesse(quality.finer) - quality.finesse(quality.start)
    here = quality.finesse(found)
    shares = [2 * k / (count - 1) - 1 for k in range(count)] if count > 1 else []
    return list(dict.fromkeys(quality.value(here + share * unit) for share in shares))


def _next(quality: Quality, tried: Mapping[float, float], wanted: float) -> float:
    points = sorted((quality.finesse(value), db) for value, db in tried.items())
    for (low, one), (high, other) in pairwise(points):
        if (one < wanted) != (other < wanted):
            share = min(max((wanted - one) / (other - one), _MARGIN), 1 - _MARGIN)
            value = quality.value(low + share * (high - low))
            # rounding may lead back to an end though there are values between
            return value if value not in tried else quality.value((low + high) / 2)
    return _beyond(quality, points, wanted)


def _beyond(quality: Quality, points: list[tuple[float, float]], wanted: float) -> float:
    """All are coarser than what is wanted, or all finer: on along the slope."""
    at_start, at_finer = quality.finesse(quality.start), quality.finesse(quality.finer)
    slope = _GUESS_DB / (at_finer - at_start)
    last, before = (points[-1], points[-2:-1]) if points[-1][1] < wanted else (points[0], points[1:2])
    for finesse, db in before:
        measured = (last[1] - db) / (last[0] - finesse)
        slope = measured if measured > 0 else slope
    far = _FARTHEST * (at_finer - at_start)
    step = min(max((wanted - last[1]) / slope, -far), far)
    here, value = quality.value(last[0]), quality.value(last[0] + step)
    # less than a step of the option leads to its neighbour
    return value if value != here else quality.neighbour(here, finer=step > 0)
