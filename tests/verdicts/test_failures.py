# SPDX-License-Identifier: BSD-3-Clause
"""What is said of settings that fail more often than the program as it is."""

from pathlib import Path

import pytest

from nodewise.verdicts.failures import _MOST_NAMED, failures_of, left_out_notes
from tests.verdicts.cases import Runs, compared


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
