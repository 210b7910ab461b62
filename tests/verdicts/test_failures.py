# SPDX-License-Identifier: BSD-3-Clause
"""What is said of settings that fail more often than the program as it is."""

import pytest

from nodewise.verdicts.failures import _MOST_NAMED, left_out_notes


@pytest.mark.parametrize("count", [0, 1, _MOST_NAMED, _MOST_NAMED + 1, _MOST_NAMED + 2, 40])
def test_of_many_some_are_named_and_the_rest_is_counted(count: int) -> None:
    notes = left_out_notes({f"s{n}": "was left out: exit code 3" for n in range(count)})
    # one more than are named is named, too: to count it takes as much room
    named = count if count <= _MOST_NAMED + 1 else _MOST_NAMED
    assert notes[:named] == [f"s{n} was left out: exit code 3" for n in range(named)]
    assert notes[named:] == ([] if named == count else [f"{count - named} more settings failed and were left out"])
