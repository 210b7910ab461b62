# SPDX-License-Identifier: BSD-3-Clause
"""Which blocks decide, and when none do."""

import random
from itertools import pairwise

from nodewise.statistics.spoiled import Met, disturbance
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
    assert told.sentence == "undecided: the machine was busy (21 of 80 runs, other load)"
    assert _judged(_pairs(40, 1.6, 20)).verdict is Word.FASTER


def test_disturbed_blocks_that_are_the_fewer_do_not_move_the_ratio() -> None:
    told = _judged(_pairs(40, 1.0, 18, shift=1.5))
    assert told.verdict is not Word.FASTER and told.pairs == 22
    assert told.low is not None and told.high is not None and told.low <= 1 <= told.high


def test_accepting_what_was_disturbed_is_said_with_the_verdict() -> None:
    told = _judged(_pairs(40, 1.6, 30), accept=True)
    assert told.verdict is Word.FASTER and told.pairs == 40
    assert "disturbed runs accepted: 30 of 40 blocks" in told.sentence


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
    # without an interval where they say the opposite
    few = _judged(_pairs(3, 1.5, 0))
    assert "0.83×" in medians_explained(few, (1.0, 1.2)) and medians_explained(few, (1.2, 1.0)) == ""
    assert all(a <= b for a, b in pairwise((told.low or 0, told.ratio, told.high or 0)))
