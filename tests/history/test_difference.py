# SPDX-License-Identifier: BSD-3-Clause
"""Two experiments against each other: with intervals, and without a verdict where the machine may have done it."""

from dataclasses import replace

import pytest

from nodewise.base.errors import InputError
from nodewise.history.difference import Difference, difference_of, side_of
from nodewise.history.entry import Entry
from nodewise.statistics.verdict import Word
from tests.history.entries import entry


def _of(one: Entry, other: Entry) -> Difference:
    return difference_of((side_of("#1", 1, one), one), (side_of("#2", 2, other), other), 0.01)


def test_what_both_measured_has_a_verdict() -> None:
    found = _of(entry(1, 1.2), entry(2, 1.0))
    (pair,) = found.pairs
    assert found.differences == ()
    assert pair.verdict is Word.FASTER
    assert pair.low < 1.2 < pair.high
    assert found.level == 0.95


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"host": "node8"}, "host: node7 then, node8 now"),
        ({"processor": "Another"}, "processor: Some Processor then, Another now"),
        ({"conditions": {"kernel": "6.2"}}, "kernel: 6.1 then, 6.2 now"),
        ({"conditions": {"kernel": "6.1", "OMP_NUM_THREADS": "4"}}, "OMP_NUM_THREADS: not set then, 4 now"),
        ({"conditions": {}}, "conditions of one of them are not known"),
        ({"tool": "hyperfine"}, "measured by nodewise then, by hyperfine now"),
    ],
)
def test_on_other_machines_there_is_a_ratio_and_no_verdict(given: dict, said: str) -> None:
    found = _of(entry(1, 1.2), entry(2, 1.0, **given))
    (pair,) = found.pairs
    assert any(said in one for one in found.differences)
    assert (pair.verdict, pair.sentence) == (None, None)
    assert pair.low < pair.ratio < pair.high


def test_intervals_of_several_hold_together() -> None:
    def several(number: int, seconds: float) -> Entry:
        one, two = entry(number, seconds), entry(number, seconds, "./solver b")
        return replace(one, points=(*one.points, *two.points))

    found = _of(several(1, 1.2), several(2, 1.0))
    assert found.level == pytest.approx(0.975)
    alone = _of(entry(1, 1.2), entry(2, 1.0))
    assert found.pairs[0].low <= alone.pairs[0].low


def test_what_only_one_measured_is_named() -> None:
    two = entry(2, 1.0, "./solver b")
    found = _of(entry(1, 1.0), replace(entry(2, 1.0), points=(*entry(2, 1.0).points, *two.points)))
    assert found.only_other == ("./solver b",)
    assert len(found.pairs) == 1


def test_one_command_each_is_compared_under_other_names() -> None:
    assert _of(entry(1, 1.0, "./old"), entry(2, 1.0, "./new")).pairs[0].name == "./old then, ./new now"


def test_what_was_tuned_is_compared_with_what_confirms_it() -> None:
    tuned, other = entry(1, 1.0), entry(2, 1.5, "./solver b")
    tune = replace(tuned, points=(*entry(1, 2.0).points, replace(tuned.points[0], role="tuned")))
    confirm = replace(entry(2, 2.0), points=(*entry(2, 2.0).points, *other.points))
    found = _of(tune, confirm)
    assert (found.only_one, found.only_other) == ((), ())
    assert [pair.name for pair in found.pairs] == ["./solver a", "./solver a (tuned) then, ./solver b now"]
    assert [pair.role for pair in found.pairs] == ["", ""]
    assert _of(confirm, tune).pairs[-1].name == "./solver b then, ./solver a (tuned) now"
    # without anything tuned they are two programs
    plain = replace(tune, points=(tune.points[0], replace(tuned.points[0], name="./other")))
    assert _of(plain, confirm).only_other == ("./solver b",)
    # of two that were tuned it is not known which one it is
    several = replace(tune, points=(*tune.points, replace(tuned.points[0], name="./other", role="tuned")))
    assert _of(several, confirm).only_one == ("./solver a (tuned)", "./other (tuned)")


def test_nothing_in_common_is_said() -> None:
    seconds = entry(1, 1.0)
    size = replace(seconds, points=(replace(seconds.points[0], metric="bytes"),))
    with pytest.raises(InputError, match="nothing that is alike"):
        _of(seconds, size)
