# SPDX-License-Identifier: BSD-3-Clause
"""The word for a promise, from the interval promised and the one measured now."""

import math

import pytest

from nodewise.statistics.compare import Ratio
from nodewise.statistics.verdict import Word, judge
from nodewise.verdicts.confirm import Held, Promise, judge_promise
from nodewise.verdicts.pair import PairVerdict


def promise(ratio: float, low: float, high: float) -> Promise:
    return Promise("e", "then", "baseline", "a=1", ratio, low, high, "a=1 ./app")


def again(ratio: float, low: float, high: float, reason: str = "") -> PairVerdict:
    word = judge(Ratio(ratio, low, high, 20), 0.01, final=True).word
    ends = (low if low > 0 else None, high if math.isfinite(high) else None)
    return PairVerdict("baseline", "a=1", word, ratio, *ends, 20, 20, 0, 0.01, None, False, reason, "")


@pytest.mark.parametrize(
    ("now", "word"),
    [
        ((1.60, 1.55, 1.65), Held.HOLDS),
        ((2.60, 2.55, 2.65), Held.HOLDS),
        # within 2 % below what was promised at least
        ((1.50, 1.48, 1.52), Held.HOLDS),
        ((1.48, 1.44, 1.52), Held.UNDECIDED),
        ((1.30, 1.28, 1.32), Held.SMALLER),
        ((1.30, 1.10, 1.60), Held.UNDECIDED),
        ((1.00, 0.995, 1.005), Held.GONE),
        ((1.03, 0.95, 1.10), Held.GONE),
        ((0.80, 0.78, 0.82), Held.REVERSED),
        ((1.20, 0.90, 1.60), Held.UNDECIDED),
        ((1.50, 0.0, math.inf), Held.UNDECIDED),
    ],
)
def test_the_word_for_a_gain_of_half(now: tuple[float, float, float], word: Held) -> None:
    assert judge_promise(promise(1.55, 1.51, 1.60), again(*now), None)[0] is word


def test_a_small_promise_is_gone_where_nothing_is_left_of_it() -> None:
    for ratio in (1.015, 1.06):
        small = promise(ratio, ratio - 0.003, ratio + 0.003)
        assert judge_promise(small, again(1.000, 0.998, 1.002), None)[0] is Held.GONE
    # what counts as no difference may still be all that was promised
    assert judge_promise(promise(1.012, 1.009, 1.015), again(1.007, 1.006, 1.008), None)[0] is Held.HOLDS


def test_a_setting_that_fails_keeps_no_promise() -> None:
    word, reason = judge_promise(promise(1.55, 1.51, 1.6), again(1.6, 1.55, 1.65), "exit code 3 in 1 of 9 runs")
    assert (word, "exit code 3 in 1 of 9 runs" in reason) == (Held.GONE, True)


def test_why_nothing_is_decided_is_said() -> None:
    busy = again(1.5, 0.0, math.inf, "the machine was busy (9 of 9 blocks: steal)")
    assert judge_promise(promise(1.55, 1.51, 1.6), busy, None) == (Held.UNDECIDED, busy.reason)
    assert judge_promise(promise(1.55, 1.51, 1.6), None, None)[0] is Held.UNDECIDED
    assert busy.verdict is Word.UNDECIDED
