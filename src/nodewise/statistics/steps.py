# SPDX-License-Identifier: BSD-3-Clause
"""The step of a coarse clock or of a printed number: what it is, and how far it may have moved a centre.

A time that was rounded to a step may be off by half of it. Noise that is wide against the step averages that out: for
normal noise of standard deviation s and a step q the mean of rounded values is off by at most (q / pi) exp(-2 pi^2 s^2 / q^2)
(the first term of the series in B. Widrow, I. Kollár, Quantization Noise, 2008, chapter 4). Noise that is narrow leaves it.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Values are compared with steps of 1, 0.1 … down to this many decimals.
_DECIMALS = 6
#: A value is a multiple of a step if it is off by at most this share of it: differences of clocks are not exact.
_EXACT = 1e-3
#: The fewest different values that show a step that is no power of ten.
_FEWEST_VALUES = 4
#: With no more different values than this share of all, the clock is taken to be coarse; its step is no larger share of a value.
_TIED, _COARSEST = 0.75, 0.1
#: The fewest values that lie on a lattice: at distances that are multiples of the least one, but for this share of it.
_FEWEST_LEVELS, _EVEN = 3, 0.05
_FEWEST_RUNS = 6
#: So often, on average, a value comes again where few are different. Of numbers with fewer digits, or no more behind the point, what
#: is seen is how they are printed.
_AGAIN, _LONG = 3, 4
#: The least distance of two values is so many ticks at most.
_MOST_PARTS = 8
#: A step is no small part of the noise from this share of the median absolute deviation on.
_SEEN = 0.2
#: Multiples of these, less their whole part, fill the unit square evenly, so that their sums stay small, as random ones do
#: not: 1/x and 1/x^2 of the root of x^3 = x + 1.
_EVENLY = np.array([0.7548776662466927, 0.5698402909980532])
#: By how many standard deviations the share of equal values is doubted.
_DOUBT = 1.64


def infer_step(*series: Sequence[float] | Array) -> float:
    """The step that all values of `series` (of the same unit) are multiples of; 0 where there is none to be seen.

    It is a power of ten, or a multiple of it that several values share, or where many values of a series are equal and the
    others lie at equal distances, that distance; or where few values come again and again, what all of them are multiples of.
    """
    arrays = [np.asarray(values, dtype=float) for values in series]
    distances = [step for values in arrays if (step := _distance(values)) > 0]
    every = np.concatenate(arrays)
    return max(_decimal_step(every), _ticks(every), min(distances, default=0.0))


def _decimal_step(values: Array) -> float:
    if values.size < _FEWEST_RUNS:
        return 0.0
    for decimals in range(_DECIMALS + 1):
        units = values * 10.0**decimals
        whole = np.round(units)
        if np.all(np.abs(units - whole) <= _EXACT) and np.all(whole > 0):
            different = np.unique(whole).astype(np.int64)
            shared = int(np.gcd.reduce(different)) if different.size >= _FEWEST_VALUES else 1
            return shared / 10.0**decimals
    return 0.0


def _ticks(values: Array) -> float:
    """The largest step that a few values are multiples of, where they come again and again; 0 where there is none.

    Times are numbers of ticks, as 3/64 and 4/64 s. What has no more digits than one prints is left to its decimals. Where all are
    one number with more, its clock may tick as seldom as that.
    """
    if values.size < 2 * _FEWEST_RUNS or values.min() <= 0:
        return 0.0
    # differences of clocks carry the noise of floating-point numbers: nine digits of a value are its own
    scale = 10.0 ** (8 - np.floor(np.log10(values)))
    different = [float(v) for v in np.unique(np.round(values * scale) / scale)[: values.size // _AGAIN + 1]]
    if len(different) > values.size // _AGAIN or not any(map(_is_long, different)):
        return 0.0
    if len(different) == 1:
        return 0.0 if different[0].is_integer() else different[0]
    gap = min(b - a for a, b in pairwise(different))
    # of a value that was printed the last digit was rounded
    rounded = 10.0 ** -min(_digits(v)[1] for v in different if _is_long(v))
    for parts in range(1, _MOST_PARTS + 1):
        units = np.array(different) * parts / gap
        if np.all(np.abs(units - np.round(units)) <= (1 + units) * rounded * parts / gap):
            return gap / parts
    return 0.0


def _digits(value: float) -> tuple[int, int]:
    """How many digits a value has, and how many of them behind the point."""
    digits, _, power = f"{value:.8e}".partition("e")
    count = len(digits.replace(".", "").rstrip("0"))
    return count, count - 1 - int(power)


def _is_long(value: float) -> bool:
    """Whether a value has more digits, and more of them behind the point, than a program prints of a time."""
    digits, behind = _digits(value)
    return digits >= _LONG and behind > _LONG


def _distance(values: Array) -> float:
    different = np.unique(values)
    if not _FEWEST_LEVELS <= different.size <= _TIED * values.size:
        return 0.0
    gaps = np.diff(different)
    step = float(gaps.min())
    even = np.abs(gaps / step - np.round(gaps / step)).max() <= _EVEN
    return step if even and step <= _COARSEST * float(np.median(values)) else 0.0


def rounding_doubt(values: Sequence[float] | Array, step: float) -> float:
    """By how much, in the values' unit, rounding to `step` may have moved the centre of n values; half a step at most.

    The noise is inferred from the share that the most frequent value has among itself and its two neighbours: another mode far
    off smooths nothing. With few values the share is taken to be as large as it may be.
    """
    if step <= 0:
        return 0.0
    levels = np.round(np.asarray(values, dtype=float) / step).astype(np.int64)
    different, counts = np.unique(levels, return_counts=True)
    mode = int(different[np.argmax(counts)])
    near = int(counts[np.abs(different - mode) <= 1].sum())
    share = _upper(int(counts.max()), near)
    narrow = _noise_of(share)
    return step * min(0.5, math.exp(-2 * math.pi**2 * narrow**2) / math.pi) if share < 1 else step / 2


def _upper(count: int, total: int) -> float:
    """The upper end of E. B. Wilson's interval (JASA 22, 1927) of a share; 1 where all are equal."""
    if count == total:
        return 1.0
    p, z2 = count / total, _DOUBT**2
    return min(
        1.0, (p + z2 / (2 * total) + _DOUBT * math.sqrt(p * (1 - p) / total + z2 / (4 * total**2))) / (1 + z2 / total)
    )


def _noise_of(share: float) -> float:
    """The normal noise, in steps, of which a value in the middle of its step has this share of three values."""
    low, high = 0.0, 2.0
    for _ in range(20):
        middle = (low + high) / 2
        inner, outer = (math.erf(reach / max(middle, 1e-9) / math.sqrt(2)) for reach in (0.5, 1.5))
        low, high = (middle, high) if inner / outer > share else (low, middle)
    return low


def widened(ratio: tuple[float, float], baseline: Array, candidate: Array, step: float) -> tuple[float, float]:
    """An interval of the ratio of two centres, with what rounding to `step` leaves open on both sides.

    Rounded to the nearest, or down: then both centres are half a step higher.
    """
    centres = float(np.median(baseline)), float(np.median(candidate))
    doubts = rounding_doubt(baseline, step), rounding_doubt(candidate, step)
    seen = centres[0] / centres[1]
    lows, highs = [], []
    for offset in (0.0, step / 2):
        one, other = centres[0] + offset, centres[1] + offset
        lows.append(max(one - doubts[0], 0.0) / (other + doubts[1]))
        highs.append((one + doubts[0]) / (other - doubts[1]) if other > doubts[1] else math.inf)
    # an end that rounding alone could reach is outside: what lies on it is not excluded
    return ratio[0] * min(lows) / seen * (1 - 1e-9), ratio[1] * max(highs) / seen * (1 + 1e-9)


def spread_ties(one: Array, other: Array, step: float) -> tuple[Array, Array]:
    """Times of a clock whose step is no small part of their noise, spread evenly over it; others as they are.

    Ratios on a lattice have no scale: more than half of them may be equal. What is added is symmetric, and the same for
    both, so the ratios stay symmetric about the true one; it does not wait for many to be equal, or looks at more and more
    of the same times would not be alike. Where all of a series are equal there is nothing to spread.
    """
    seen = any(times.min() < times.max() and step >= _SEEN * _deviation(times) for times in (one, other))
    if step <= 0 or not seen or step > _COARSEST * min(float(np.median(one)), float(np.median(other))):
        return one, other
    shift = step * ((0.5 + np.arange(1, one.size + 1)[:, None] * _EVENLY) % 1 - 0.5)
    return one + shift[:, 0], other + shift[:, 1]


def _deviation(times: Array) -> float:
    return float(np.median(np.abs(times - np.median(times))))
