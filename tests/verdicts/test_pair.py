# SPDX-License-Identifier: BSD-3-Clause
"""Which blocks decide, and when none do."""

import random
import re
from dataclasses import replace
from itertools import pairwise

from nodewise.statistics.disturbance import Met, disturbance
from nodewise.statistics.verdict import Word
from nodewise.verdicts.pair import Pairs, PairVerdict, judge_pairs, medians_explained, pair_verdict


def _pairs(blocks: int, ratio: float, disturbed: int, shift: float = 1.0) -> Pairs:
    """The first `disturbed` blocks are disturbed, and their first contender is so many times slower."""
    dice = random.Random(blocks)
    one = [ratio * (1 + dice.gauss(0, 0.01)) * (shift if i < disturbed else 1) for i in range(blocks)]
    other = [1 + dice.gauss(0, 0.01) for _ in range(blocks)]
    marks = ("other load: it waited",)
    met = disturbance(
        [Met(i, k, marks if i < disturbed and k == "a" else (), 1.0) for i in range(blocks) for k in "ab"]
    )
    return Pairs(tuple(one), tuple(other), tuple(range(blocks)), met)


def _judged(pairs: Pairs, accept: bool = False, surely: bool = False) -> PairVerdict:
    found = judge_pairs(pairs, lambda _: 0.95, 0.01, final=True, accept_disturbed=accept, surely=surely)
    return pair_verdict("a", "b", pairs, found, accept)


def test_a_busy_machine_decides_nothing_and_says_what_it_was() -> None:
    told = _judged(_pairs(40, 1.6, 21))
    assert told.verdict is Word.UNDECIDED and told.low is None
    assert told.sentence == "undecided: the machine was busy (21 of 80 runs, in 21 of 40 blocks, other load)"
    assert _judged(_pairs(40, 1.6, 20)).verdict is Word.FASTER


def test_disturbed_blocks_that_are_the_fewer_do_not_move_the_ratio() -> None:
    told = _judged(_pairs(40, 1.0, 18, shift=1.5))
    assert told.verdict is not Word.FASTER and told.pairs == 22
    assert told.low is not None and told.high is not None and told.low <= 1 <= told.high


def test_accepting_what_was_disturbed_is_said_with_the_verdict() -> None:
    told = _judged(_pairs(40, 1.6, 30), accept=True)
    assert told.verdict is Word.FASTER and told.pairs == 40
    assert "disturbed runs accepted: 30 of 40 blocks" in told.sentence


def test_the_headline_has_the_size_and_says_where_disturbed_runs_decided() -> None:
    assert re.fullmatch(r"1\.[56]\d*× faster", _judged(_pairs(40, 1.6, 0)).headline)
    assert re.fullmatch(r"1\.[56]\d*× slower", _judged(_pairs(40, 1 / 1.6, 0)).headline)
    assert re.fullmatch(r"1\.[56]\d*× faster, by disturbed runs", _judged(_pairs(40, 1.6, 30), accept=True).headline)
    assert _judged(_pairs(40, 1.6, 30)).headline == "Undecided"
    assert _judged(_pairs(40, 1.0, 0)).headline == "No difference found"


def test_a_slowdown_is_the_ratio_turned_over_with_its_interval() -> None:
    pair = replace(_judged(_pairs(40, 1.0, 0)), ratio=0.5, low=0.4, high=None)
    assert (pair.slowdown.ratio, pair.slowdown.low, pair.slowdown.high) == (2.0, 0.0, 2.5)


def test_fewer_than_six_blocks_have_no_interval() -> None:
    for blocks in range(1, 6):
        told = _judged(_pairs(blocks, 3.0, 0))
        assert told.verdict is Word.UNDECIDED and told.low is told.high is None and told.reason
    assert _judged(_pairs(6, 3.0, 0)).verdict is Word.FASTER


def test_disturbed_blocks_count_in_a_tune_where_the_others_are_too_few_but_most() -> None:
    told = _judged(_pairs(7, 3.0, 2), surely=True)
    assert told.verdict is Word.FASTER and told.pairs == 7
    assert "of 7 blocks 2 were disturbed, and count as the others are too few" in told.sentence
    # what hits the one contender alone still cannot make a difference of none
    assert _judged(_pairs(7, 1.0, 3, shift=1.5), surely=True).verdict is not Word.FASTER
    early = judge_pairs(_pairs(7, 3.0, 2), lambda _: 0.95, 0.01, final=False, surely=True)[0]
    assert early.word is Word.UNDECIDED
    # in a comparison, of which the difference may be small, they do not
    assert _judged(_pairs(7, 3.0, 2)).verdict is Word.UNDECIDED
    busy = _judged(_pairs(7, 3.0, 4), surely=True)
    assert busy.verdict is Word.UNDECIDED and busy.busy


def test_nothing_in_common_is_undecided() -> None:
    assert _judged(Pairs((), (), ())).verdict is Word.UNDECIDED


def test_medians_that_say_something_else_are_explained() -> None:
    told = _judged(_pairs(20, 1.75, 0))
    assert medians_explained(told, (1.75, 1.0)) == ""
    assert "1.87×" in medians_explained(told, (1.87, 1.0))
    # inside of a wide interval, and yet far from the ratio
    wide = replace(told, low=1.0, high=3.0)
    assert medians_explained(wide, (1.8, 1.0)) == "" and "1.50×" in medians_explained(wide, (1.5, 1.0))
    # without an interval where they say the opposite
    few = _judged(_pairs(3, 1.5, 0))
    assert "0.83×" in medians_explained(few, (1.0, 1.2)) and medians_explained(few, (1.2, 1.0)) == ""
    assert all(a <= b for a, b in pairwise((told.low or 0, told.ratio, told.high or 0)))


def test_each_reason_is_said() -> None:
    def reason(pairs: Pairs, **more: object) -> tuple[str, str]:
        verdict, why = judge_pairs(pairs, lambda _: 0.95, 0.01, final=True, **more)  # type: ignore[arg-type]
        return verdict.word.value, why

    assert reason(_pairs(40, 1.6, 0)) == ("faster", "")
    assert reason(Pairs((), (), ())) == ("undecided", "no block has a good run of both")
    assert reason(_pairs(1, 1.6, 0)) == ("undecided", "1 block is too few")
    assert reason(_pairs(5, 1.6, 0)) == ("undecided", "5 blocks are too few")
    assert reason(_pairs(7, 1.6, 2)) == ("undecided", "5 undisturbed blocks are too few")
    assert reason(_pairs(12, 1.6, 7)) == (
        "undecided",
        "the machine was busy (7 of 24 runs, in 7 of 12 blocks, other load)",
    )
    assert reason(_pairs(12, 1.6, 7), accept_disturbed=True) == ("faster", "")
    spread = Pairs((1.0, 2.0, 0.5, 1.5, 0.7, 1.2, 0.9), (1.0,) * 7, tuple(range(7)))
    assert reason(spread) == ("undecided", "the noise leaves it open")
    surely = Pairs(tuple(1.02 + 0.008 * (i % 5 - 2) for i in range(20)), (1.0,) * 20, tuple(range(20)))
    assert reason(surely) == ("faster", "")
    nearly = Pairs(tuple(1.06 + 0.03 * (i % 5 - 2) for i in range(12)), (1.0,) * 12, tuple(range(12)))
    assert reason(nearly, surely=True) == ("undecided", "the gain may be no more than counts as none, 1%")
    # what ran before favours the one in all but two blocks
    after = (("b", "a"),) * 10 + (("a", "a"),) * 2
    assert reason(Pairs((2.0,) * 12, (1.0,) * 12, tuple(range(12)), after=after, names=("a", "b"))) == (
        "undecided",
        "2 comparable blocks are too few",
    )


def test_all_of_a_pair_is_handed_on() -> None:
    told = _judged(_pairs(40, 1.6, 10))
    assert (told.one, told.other, told.pairs, told.blocks, told.disturbed) == ("a", "b", 30, 40, 10)
    assert (told.within, told.busy, told.reason) == (0.01, False, "")
    assert told.low is not None and told.high is not None and told.low < told.ratio < told.high
    assert told.beyond is not None and told.beyond == max(told.high, 1 / told.low) - 1
    assert (told.interval.ratio, told.interval.low, told.interval.high) == (told.ratio, told.low, told.high)
    assert told.interval.pairs == 30
    busy = _judged(_pairs(40, 1.6, 21))
    assert busy.busy and busy.beyond is None and (busy.interval.low, busy.interval.high) == (0.0, float("inf"))
    assert abs(busy.ratio - 1.6) < 0.02 and busy.pairs == 0
    assert not _judged(_pairs(40, 1.6, 21), accept=True).busy


def test_medians_at_an_end_of_the_interval_agree_with_it() -> None:
    told = _judged(_pairs(20, 1.75, 0))
    assert told.low is not None and told.high is not None
    assert medians_explained(told, (told.low, 1.0)) == medians_explained(told, (told.high, 1.0)) == ""
    assert medians_explained(told, (told.low - 0.01, 1.0)) and medians_explained(told, (told.high + 0.01, 1.0))
    assert medians_explained(told, (0.0, 1.0)) == "" and medians_explained(told, ()) == ""
    few = _judged(_pairs(3, 1.5, 0))
    # neither is off by more than counts as none
    assert medians_explained(replace(few, ratio=1.009), (0.995, 1.0)) == ""
    assert medians_explained(replace(few, ratio=1.02), (0.995, 1.0)) and medians_explained(few, (1.0, 1.0)) == ""


def test_an_interval_that_ends_at_one_is_no_difference_told() -> None:
    pair = replace(_judged(_pairs(40, 1.0, 0)), ratio=0.5, low=0.25, high=0.8)
    assert (pair.slowdown.ratio, pair.slowdown.low, pair.slowdown.high) == (2.0, 1.25, 4.0)
    assert (pair.interval.low, pair.interval.high, pair.interval.pairs) == (0.25, 0.8, pair.pairs)


def test_one_end_is_enough_for_an_interval_to_explain_nothing_by() -> None:
    told = _judged(_pairs(40, 1.0, 0))
    # without its upper end there is no interval: only what says the opposite is explained
    half = replace(told, ratio=1.2, low=1.1, high=None)
    assert medians_explained(half, (3.0, 1.0)) == "" and medians_explained(half, (1.0, 3.0))


def test_medians_may_lie_outside_of_the_interval_by_what_is_allowed() -> None:
    told = replace(_judged(_pairs(40, 1.1, 0)), ratio=1.1, low=1.0, high=1.2)
    for medians in ((1.21, 1.0), (0.99, 1.0)):
        assert medians_explained(told, medians, 0.02) == "" and medians_explained(told, medians)
    for medians in ((1.23, 1.0), (0.97, 1.0)):
        assert medians_explained(told, medians, 0.02)
