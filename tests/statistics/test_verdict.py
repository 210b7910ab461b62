# SPDX-License-Identifier: BSD-3-Clause
"""What an interval is called, and how it is written."""

import math

import pytest

from nodewise.statistics.compare import Ratio
from nodewise.statistics.verdict import Word, format_ratio, judge


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.45, 1.49, Word.FASTER),
        (1.001, 1.2, Word.FASTER),
        (0.5, 0.8, Word.SLOWER),
        (0.995, 1.009, Word.NO_DIFFERENCE),
        (1.001, 1.009, Word.NO_DIFFERENCE),
        (0.98, 1.005, Word.UNDECIDED),
        (0.0, math.inf, Word.UNDECIDED),
    ],
)
def test_the_word_follows_from_the_interval(low: float, high: float, word: Word) -> None:
    middle = math.sqrt(low * high) if low > 0 and high < math.inf else 1.0
    assert judge(Ratio(middle, low, high, 20), 0.01).word is word


def test_at_the_end_a_narrow_interval_about_one_is_no_difference_beyond_its_own_size() -> None:
    verdict = judge(Ratio(1.003, 0.985, 1.012, 30), 0.01, final=True)
    assert verdict.word is Word.NO_DIFFERENCE
    assert verdict.sentence.startswith("no difference beyond 1.6%")


def test_at_the_end_a_wide_interval_still_says_nothing() -> None:
    assert judge(Ratio(1.02, 0.9, 1.2, 6), 0.01, final=True).word is Word.UNDECIDED


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (Ratio(1.4712, 1.4512, 1.4913, 20), "1.47× (1.45–1.49)"),
        (Ratio(1.00123, 0.99912, 1.00312, 20), "1.001× (0.999–1.003)"),
        (Ratio(1.0251, 1.0041, 1.0432, 20), "1.025× (1.004–1.043)"),
        (Ratio(153.2, 150.1, 156.9, 20), "153× (150–157)"),
        (Ratio(1.3, 0.0, math.inf, 3), "1.3× (too few runs for an interval)"),
    ],
)
def test_a_ratio_is_written_with_the_digits_that_its_interval_supports(ratio: Ratio, text: str) -> None:
    assert format_ratio(ratio) == text
