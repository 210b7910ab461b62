# SPDX-License-Identifier: BSD-3-Clause
"""What is said of settings that fail more often than the program as it is."""

from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.runner.sample import Sample
from nodewise.verdicts.failures import _MOST_NAMED, fails_by_chance, failures_of, left_out_notes, went_on
from tests.verdicts.cases import Runs, compared

WRONG = "wrong result: output differs from the baseline's at line 1"


@pytest.mark.parametrize("count", [0, 1, _MOST_NAMED, _MOST_NAMED + 1, _MOST_NAMED + 2, 40])
def test_of_many_some_are_named_and_the_rest_is_counted(count: int) -> None:
    notes = left_out_notes({f"s{n}": "was left out: exit code 3" for n in range(count)})
    # one more than are named is named, too: to count it takes as much room
    named = count if count <= _MOST_NAMED + 1 else _MOST_NAMED
    assert notes[:named] == [f"s{n} was left out: exit code 3" for n in range(named)]
    assert notes[named:] == ([] if named == count else [f"{count - named} more settings failed and were left out"])


def test_what_was_cut_off_neither_failed_nor_ran_to_an_end(tmp_path: Path) -> None:
    ends: dict[int, dict[str, object]] = {1: {"error": "exit code 3"}, 2: {"error": "too long", "cut_off": True}}
    made = compared(tmp_path / "x", {"a": Runs(1.0, change=lambda run: ends.get(run, {})), "b": Runs(1.0)}, blocks=6)
    assert failures_of(made, "a") == (1, 5) and failures_of(made, "b") == (0, 6)


def test_so_often_it_may_fail_by_chance() -> None:
    failed = Sample(1.0, 1.0, 0.0, error="exit code 3")
    assert [fails_by_chance(failed, bad, good) for bad, good in ((2, 0), (3, 0), (3, 2), (3, 3), (4, 3))] == [
        True,
        False,
        False,
        True,
        False,
    ]
    assert not fails_by_chance(replace(failed, cut_off=True), 1, 9)


@pytest.mark.parametrize(("first", "last", "on"), [("exit code 3", WRONG, False), (WRONG, "exit code 3", True)])
def test_whether_it_went_on_is_said_by_its_last_failure(tmp_path: Path, first: str, last: str, on: bool) -> None:
    errors = {3: first, 7: last}
    failing = Runs(1.0, change=lambda run: {"error": errors[run]} if run in errors else {})
    made = compared(tmp_path / "x", {"a": Runs(1.0), "b": failing}, promise={"flaky": True})
    assert went_on(made, "b", "compare") is on and went_on(made, "a", "compare")
    assert not went_on(compared(tmp_path / "y", {"a": Runs(1.0), "b": failing}), "b", "compare")
