# SPDX-License-Identifier: BSD-3-Clause
"""What the benchmark of a busy machine holds words and intervals against."""

import pytest

from benchmarks._busy.truth import Said, Truth, around, exactly


@pytest.mark.parametrize(
    ("word", "low", "high", "truth", "wrong"),
    [
        ("faster", 1.1, 1.3, exactly(1.2), False),
        ("faster", 1.1, 1.3, exactly(1.0), True),
        ("slower", 0.7, 0.9, exactly(1.2), True),
        # that it is faster is not known to be wrong
        ("faster", 1.1, 1.3, Truth(0.98, 1.05), False),
        ("slower", 0.7, 0.9, Truth(1.01, 1.05), True),
        ("no difference", 0.99, 1.01, exactly(1.03), True),
        ("no difference", 0.97, 1.01, exactly(1.03), False),
        ("no difference", 0.99, 1.01, exactly(1 / 1.3), True),
        ("no difference", 0.99, 1.01, Truth(1.005, 1.1), False),
        ("undecided", None, None, exactly(2.0), False),
    ],
)
def test_a_word_is_wrong_where_no_truth_that_may_be_bears_it(
    word: str, low: float | None, high: float | None, truth: Truth, wrong: bool
) -> None:
    assert Said(word, low, high, 0.01).wrong(truth) is wrong


def test_an_interval_is_good_where_it_holds_what_may_be_the_truth() -> None:
    said = Said("undecided", 0.9, 1.1, 0.01)
    assert [said.inside(t) for t in (exactly(1.0), exactly(1.2), Truth(1.05, 1.15), Truth(1.11, 1.2))] == [
        True,
        False,
        True,
        False,
    ]
    assert Said("undecided", None, None, 0.01).inside(exactly(1.0)) is None


def test_a_truth_that_moves_is_not_known() -> None:
    steady, other = [1.9, 1.92, 1.91, 1.9, 1.93, 1.9, 1.91, 1.92], [0.9, 0.92, 0.91, 0.9, 0.93, 0.9, 0.91, 0.92]
    assert around(steady, steady).known
    assert 1.89 < around(steady, steady).low <= around(steady, steady).high < 1.94
    assert not around(steady, other).known
    # too few runs know nothing
    assert not around(steady, steady[:2]).known
