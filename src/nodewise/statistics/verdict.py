# SPDX-License-Identifier: BSD-3-Clause
"""Verdict: what a comparison says, in one of four words, always with its size."""

import math
from enum import StrEnum

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_percent
from nodewise.statistics.compare import Ratio


class Word(StrEnum):
    """The four things that a comparison can say of the candidate."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference"
    UNDECIDED = "undecided"


#: An interval that holds 1 and reaches at most this many times the asked difference still says "no difference", with its
#: own size named; a wider one says nothing.
_WIDEST = 5.0


@dataclass(frozen=True)
class Verdict:
    """A word, the ratio behind it, and `within`: the difference that was asked to count as none (0.01 is 1%)."""

    word: Word
    ratio: Ratio
    within: float

    @property
    def beyond(self) -> float:
        """The largest difference, either way, that the interval leaves possible."""
        if self.ratio.low <= 0:
            return math.inf
        return max(self.ratio.high, 1 / self.ratio.low) - 1

    @property
    def sentence(self) -> str:
        """`1.47× (1.45–1.49) faster`, `no difference beyond 1%`, `undecided: 1.01× (0.98–1.04)`."""
        span = format_ratio(self.ratio)
        return {
            Word.FASTER: f"{span} faster",
            Word.SLOWER: f"{span}: slower",
            Word.NO_DIFFERENCE: f"no difference beyond {self._size}: {span}",
            Word.UNDECIDED: f"undecided: {span}",
        }[self.word]

    @property
    def _size(self) -> str:
        size = max(self.beyond, self.within)
        # rounded up, since the statement has to hold
        return "?" if math.isinf(size) else format_percent(math.ceil(size * 1000 - 1e-6) / 1000)


def format_ratio(ratio: Ratio) -> str:
    """`1.47× (1.45–1.49)`, with as many digits as the interval is wide for."""
    if not ratio.has_interval:
        return f"{format_factor(ratio)} (too few runs for an interval)"
    digits = _digits(ratio)
    return f"{ratio.ratio:.{digits}f}× ({ratio.low:.{digits}f}–{ratio.high:.{digits}f})"


def format_factor(ratio: Ratio | float) -> str:
    """`1.47×`: the ratio alone, with as many digits as `format_ratio` gives it; without an interval two, or more where it would read as 1."""
    if not isinstance(ratio, Ratio):
        ratio = Ratio(ratio, ratio, ratio, 0)
    return f"{ratio.ratio:.{_digits(ratio)}f}×"


def _digits(ratio: Ratio) -> int:
    low, high = (ratio.low, ratio.high) if ratio.has_interval else (ratio.ratio, ratio.ratio)
    half = (high - low) / 2
    digits = min(4, max(2, math.ceil(-math.log10(half)))) if half > 0 else 2
    # an end on one side of 1 is not to be written as 1
    while digits < 4 and any(end != 1 and round(end, digits) == 1 for end in (low, high)):
        digits += 1
    if ratio.ratio >= 100:
        digits = max(0, digits - 2)
    elif 0 < ratio.ratio < 0.1:
        # two of its own are left
        digits = max(digits, min(6, 1 - math.floor(math.log10(ratio.ratio))))
    # an end above 0 is not to be written as 0
    while digits < 6 and low > 0 and round(low, digits) == 0:
        digits += 1
    return digits


def judge(ratio: Ratio, within: float, final: bool = False, surely: bool = False) -> Verdict:
    """Say what an interval means.

    All of it inside 1 ± `within` is no difference, else on one side of 1 faster or slower, if the ratio itself is more than
    what counts as none; where that has to be so `surely`, all of the interval is more. Where no more runs will come (`final`),
    any other that is narrow enough is no difference beyond the size that it has, else undecided.
    """
    beyond = Verdict(Word.UNDECIDED, ratio, within).beyond
    edge = 1 + within if surely else 1.0
    if beyond <= within:
        word = Word.NO_DIFFERENCE
    elif ratio.low > edge and ratio.ratio > 1 + within:
        word = Word.FASTER
    elif ratio.high < 1 / edge and ratio.ratio * (1 + within) < 1:
        word = Word.SLOWER
    else:
        word = Word.NO_DIFFERENCE if final and beyond <= _WIDEST * within else Word.UNDECIDED
    return Verdict(word, ratio, within)


def is_settled(verdict: Verdict) -> bool:
    """Whether more runs would change little: a word is said, and the size of a difference is known to a tenth of it."""
    if verdict.word in (Word.FASTER, Word.SLOWER):
        ratio = verdict.ratio
        return ratio.high / ratio.low - 1 <= max(2 * verdict.within, 0.1 * abs(math.log(ratio.ratio)))
    return verdict.word is not Word.UNDECIDED
