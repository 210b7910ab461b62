# SPDX-License-Identifier: BSD-3-Clause
"""What an interval is called, and how it is written."""

import math

import pytest

from nodewise.statistics.compare import Ratio
from nodewise.statistics.verdict import Verdict, Word, format_factor, format_ratio, is_settled, judge


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
        (Ratio(1.3, 0.0, math.inf, 3), "1.30× (too few runs for an interval)"),
    ],
)
def test_a_ratio_is_written_with_the_digits_that_its_interval_supports(ratio: Ratio, text: str) -> None:
    assert format_ratio(ratio) == text


def test_a_difference_that_is_no_larger_than_what_counts_as_none_is_not_said() -> None:
    # the interval excludes 1, but the ratio itself is within what was asked to count as none
    assert judge(Ratio(1.0095, 1.002, 1.017, 30), 0.01).word is Word.UNDECIDED
    assert judge(Ratio(1 / 1.0095, 1 / 1.017, 1 / 1.002, 30), 0.01).word is Word.UNDECIDED
    assert judge(Ratio(1.0105, 1.002, 1.019, 30), 0.01).word is Word.FASTER
    assert judge(Ratio(1 / 1.0105, 1 / 1.019, 1 / 1.002, 30), 0.01).word is Word.SLOWER


def test_where_it_has_to_be_sure_all_of_the_interval_is_more_than_counts_as_none() -> None:
    for low, high, word in [(1.007, 1.06, Word.UNDECIDED), (1.011, 1.06, Word.FASTER)]:
        ratio = Ratio(1.037, low, high, 28)
        assert judge(ratio, 0.01).word is Word.FASTER
        assert judge(ratio, 0.01, surely=True).word is word
        turned = judge(Ratio(1 / 1.037, 1 / high, 1 / low, 28), 0.01, surely=True).word
        assert turned is (Word.SLOWER if word is Word.FASTER else word)


def test_more_runs_change_little_once_the_size_is_known_to_a_tenth() -> None:
    def settled(ratio: float, half: float, within: float = 0.01) -> bool:
        return is_settled(judge(Ratio(ratio, ratio / (1 + half), ratio * (1 + half), 30), within))

    assert settled(2.0, 0.03) and not settled(2.0, 0.05)
    assert settled(1.05, 0.009) and not settled(1.05, 0.012)
    assert settled(1.0, 0.009) and not settled(1.0, 0.02)


@pytest.mark.parametrize(
    ("ratio", "low", "high", "how", "word"),
    [
        # a quarter and its fractions are exact
        (1.0, 0.8, 1.25, {}, Word.NO_DIFFERENCE),
        (1.5, 1.0, 2.0, {}, Word.UNDECIDED),
        (1.25, 1.125, 1.5, {}, Word.UNDECIDED),
        (1.5, 1.125, 2.0, {}, Word.FASTER),
        (1.5, 1.25, 2.0, {"surely": True}, Word.UNDECIDED),
        (0.5, 0.25, 1.0, {}, Word.UNDECIDED),
        (0.8, 0.5, 0.9, {}, Word.UNDECIDED),
        (0.5, 0.25, 0.9, {}, Word.SLOWER),
        (0.5, 0.25, 0.8, {"surely": True}, Word.UNDECIDED),
        (1.1, 0.8, 2.25, {"final": True}, Word.NO_DIFFERENCE),
        (1.1, 0.8, 2.25, {}, Word.UNDECIDED),
        (1.1, 0.8, 2.26, {"final": True}, Word.UNDECIDED),
    ],
)
def test_what_lies_on_an_edge_is_not_beyond_it(
    ratio: float, low: float, high: float, how: dict[str, bool], word: Word
) -> None:
    verdict = judge(Ratio(ratio, low, high, 20), 0.25, **how)
    assert (verdict.word, verdict.within, verdict.ratio.ratio) == (word, 0.25, ratio)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (Ratio(1.3, 0.0, 2.0, 3), "1.30× (too few runs for an interval)"),
        (Ratio(1.3, 1.0, math.inf, 3), "1.30× (too few runs for an interval)"),
        (Ratio(2.0, 2.0, 2.0, 20), "2.00× (2.00–2.00)"),
        (Ratio(5.0, 2.0, 9.0, 20), "5.00× (2.00–9.00)"),
        (Ratio(1.5, 1.499999, 1.500001, 20), "1.5000× (1.5000–1.5000)"),
        (Ratio(1.1, 1.0, 1.2, 20), "1.10× (1.00–1.20)"),
        (Ratio(1.3, 1.00001, 1.6, 20), "1.3000× (1.0000–1.6000)"),
        (Ratio(100.0, 90.0, 110.0, 20), "100× (90–110)"),
        (Ratio(100.0, 99.999, 100.001, 20), "100.0× (100.0–100.0)"),
        (Ratio(99.0, 90.0, 108.0, 20), "99.00× (90.00–108.00)"),
    ],
)
def test_digits_are_two_to_four_and_of_large_ratios_fewer(ratio: Ratio, text: str) -> None:
    assert format_ratio(ratio) == text


def test_each_word_has_its_sentence() -> None:
    ratio = Ratio(1.005, 0.9921, 1.0161, 20)
    assert Verdict(Word.FASTER, ratio, 0.01).sentence == f"{format_ratio(ratio)} faster"
    assert Verdict(Word.SLOWER, ratio, 0.01).sentence == f"{format_ratio(ratio)}: slower"
    assert Verdict(Word.UNDECIDED, ratio, 0.01).sentence == f"undecided: {format_ratio(ratio)}"
    # rounded up, and no less than what was asked to count as none
    assert Verdict(Word.NO_DIFFERENCE, ratio, 0.01).sentence == f"no difference beyond 1.7%: {format_ratio(ratio)}"
    assert Verdict(Word.NO_DIFFERENCE, ratio, 0.05).sentence == f"no difference beyond 5%: {format_ratio(ratio)}"
    assert Verdict(Word.NO_DIFFERENCE, ratio, 0.6).sentence == f"no difference beyond 60%: {format_ratio(ratio)}"
    assert Verdict(Word.NO_DIFFERENCE, Ratio(1.0, 0.99, 1.016, 9), 0.01).sentence.startswith(
        "no difference beyond 1.6%"
    )
    few = Ratio(1.005, 0.0, 1.1, 3)
    assert Verdict(Word.NO_DIFFERENCE, few, 0.01).beyond == math.inf
    assert Verdict(Word.NO_DIFFERENCE, few, 0.01).sentence == f"no difference beyond ?: {format_ratio(few)}"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (Ratio(1.004, 1.003, 1.005, 30), "1.004×"),
        (Ratio(1.4712, 1.45, 1.49, 30), "1.47×"),
        (Ratio(1.004, 0.0, math.inf, 2), "1.004×"),
        *((1.47, "1.47×"), (1.004, "1.004×"), (0.9961, "0.996×"), (1.0, "1.00×"), (150.4, "150×")),
    ],
)
def test_a_ratio_alone_has_the_digits_that_it_has_with_its_interval(ratio: Ratio | float, text: str) -> None:
    assert format_factor(ratio) == text
    if isinstance(ratio, Ratio) and ratio.has_interval:
        assert format_ratio(ratio).startswith(f"{text} (")


def test_a_wide_margin_is_the_same_seen_from_either_side() -> None:
    # 1 / 1.1 is not 1 - 0.1
    assert judge(Ratio(1.105, 1.08, 1.13, 30), 0.1).word is Word.FASTER
    assert judge(Ratio(1 / 1.105, 1 / 1.13, 1 / 1.08, 30), 0.1).word is Word.SLOWER


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (Ratio(0.005, 0.0041, 0.0062, 9), "0.0050× (0.0041–0.0062)"),
        (Ratio(0.15, 0.002, 0.9, 9), "0.150× (0.002–0.900)"),
        (Ratio(0.95, 0.05, 1.9, 9), "0.95× (0.05–1.90)"),
        (Ratio(0.0105, 0.0, math.inf, 3), "0.011× (too few runs for an interval)"),
    ],
)
def test_small_ratios_keep_their_digits(ratio: Ratio, said: str) -> None:
    assert format_ratio(ratio) == said


def test_the_words_are_those_of_the_files() -> None:
    assert [word.value for word in Word] == ["faster", "slower", "no difference", "undecided"]
