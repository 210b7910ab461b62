# SPDX-License-Identifier: BSD-3-Clause
"""What stands in the way of a change."""

from types import SimpleNamespace
from typing import Any

import pytest

from nodewise.statistics.verdict import Word
from nodewise.verdicts.gate import Gate, gate_of
from nodewise.verdicts.pair import PairVerdict


def test_what_is_slower_or_failed_blocks_with_a_threshold_and_without() -> None:
    assert not Gate(None, (), (), ("a",), False).blocked and not Gate(0.02, (), (), ("a",), True).blocked
    assert Gate(0.02, ("a",), (), (), False).blocked
    assert Gate(0.02, (), ("a",), (), False).blocked and Gate(None, (), ("a",), (), False).blocked


def _contender(name: str, against: PairVerdict | None = None, error: str | None = None) -> Any:
    return SimpleNamespace(name=name, against_reference=against, error=error)


def _pair(word: Word | None, low: float | None, high: float | None, name: str = "", comparable: bool = True) -> Any:
    return SimpleNamespace(verdict=word, low=low, high=high, name=name, comparable=comparable)


def _verdict(*contenders: Any, then: tuple[Any, ...] | None = None) -> Any:
    return SimpleNamespace(contenders=contenders, baseline=None if then is None else SimpleNamespace(pairs=then))


SLOWER = _pair(Word.SLOWER, 0.5, 0.6)
#: Surely slower, by 1 to 4%.
A_LITTLE = _pair(Word.SLOWER, 0.96, 0.99)
OPEN = _pair(Word.UNDECIDED, None, None)
FASTER = _pair(Word.FASTER, 1.1, 1.2)


def test_without_a_threshold_nothing_is_slower_and_what_is_undecided_is_open() -> None:
    gate = gate_of(_verdict(_contender("a"), _contender("b", SLOWER), _contender("c", OPEN)), None)
    assert gate == Gate(None, (), (), ("c",), False)


def test_what_failed_is_neither_slower_nor_open() -> None:
    gate = gate_of(_verdict(_contender("a"), _contender("b", SLOWER, "exit code 1"), _contender("c", OPEN, "x")), 0.02)
    assert gate == Gate(0.02, (), ("b", "c"), (), False)


@pytest.mark.parametrize(
    ("threshold", "slower", "open_"), [(0.005, True, False), (0.02, False, True), (0.05, False, False)]
)
def test_the_interval_is_held_against_the_threshold(threshold: float, slower: bool, open_: bool) -> None:
    # 0.96 … 0.99 times as fast is 1 … 4.2% slower
    gate = gate_of(_verdict(_contender("a"), _contender("b", A_LITTLE), _contender("c", FASTER)), threshold)
    assert (gate.slower, gate.undecided) == (("b",) if slower else (), ("b",) if open_ else ())


def test_an_end_on_the_threshold_is_not_yet_beyond_it() -> None:
    gate = gate_of(_verdict(_contender("a"), _contender("b", _pair(Word.SLOWER, 0.5, 0.8))), 0.25)
    assert (gate.slower, gate.undecided) == ((), ("b",))
    assert gate_of(_verdict(_contender("b", _pair(Word.UNDECIDED, 0.8, 2.0))), 0.25).undecided == ("b",)


def test_what_a_contender_was_then_counts_where_it_can_be_compared() -> None:
    then = (_pair(Word.SLOWER, 0.5, 0.6, "a"), _pair(Word.SLOWER, 0.5, 0.6, "b", comparable=False))
    gate = gate_of(_verdict(_contender("a"), _contender("b", FASTER), then=then), 0.02)
    assert gate == Gate(0.02, ("a (baseline)",), (), (), False)
    other = gate_of(_verdict(_contender("a"), then=then[1:]), 0.02)
    assert other == Gate(0.02, (), (), (), True)
    assert gate_of(_verdict(_contender("a", SLOWER), then=()), 0.02).slower == ("a",)
