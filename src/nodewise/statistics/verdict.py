# SPDX-License-Identifier: BSD-3-Clause
"""Verdict: what a comparison says, in one of four words, always with its size."""

import math
from dataclasses import dataclass
from enum import StrEnum

from nodewise.base.units import format_percent
from nodewise.statistics.compare import Ratio


class Word(StrEnum):
    """The four things that a comparison can say of the candidate."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Verdict:
    """A word, the ratio behind it, and `within`: the difference that counts as none (0.01 is 1 %)."""

    word: Word
    ratio: Ratio
    within: float

    @property
    def sentence(self) -> str:
        """`1.47× (1.45–1.49) faster`, `no difference beyond 1%`, `not decided: 1.01× (0.98–1.04)`."""
        span = format_ratio(self.ratio)
        return {
            Word.FASTER: f"{span} faster",
            Word.SLOWER: f"{span}: slower",
            Word.NO_DIFFERENCE: f"no difference beyond {format_percent(self.within)}: {span}",
            Word.UNDECIDED: f"not decided: {span}",
        }[self.word]


def format_ratio(ratio: Ratio) -> str:
    """`1.47× (1.45–1.49)`, with as many digits as the interval is wide for."""
    if not math.isfinite(ratio.high) or ratio.low <= 0:
        return f"{ratio.ratio:.3g}× (too few runs for an interval)"
    width = ratio.high - ratio.low
    digits = min(4, max(2, 1 - math.floor(math.log10(width)))) if width > 0 else 2
    if ratio.ratio >= 100:
        digits = max(0, digits - 2)
    return f"{ratio.ratio:.{digits}f}× ({ratio.low:.{digits}f}–{ratio.high:.{digits}f})"


def judge(ratio: Ratio, within: float) -> Verdict:
    """Say what an interval means: all of it inside 1 ± `within` is no difference, else a side, else undecided."""
    if ratio.low >= 1 / (1 + within) and ratio.high <= 1 + within:
        word = Word.NO_DIFFERENCE
    elif ratio.low > 1:
        word = Word.FASTER
    elif ratio.high < 1:
        word = Word.SLOWER
    else:
        word = Word.UNDECIDED
    return Verdict(word, ratio, within)
