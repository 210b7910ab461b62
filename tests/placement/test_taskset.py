# SPDX-License-Identifier: BSD-3-Clause
"""taskset's texts: which word of a line is meant, and where what is wrong stands."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.dialects.taskset import read_taskset, write_taskset
from tests.placement.test_dialects import LIKWID, synthetic


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-c 0-4, 9", "column 8:.*no blank in a list"),
        ("-c -1", "column 4:.*a list of processors"),
        ("-c", "there is no list behind -c"),
        ("-a", "column"),
        ("-a g", "column 4: expected a mask"),
        ("g", "column 1: expected a mask"),
        ("-p 3", "has no option -p"),
        ("--all-tasks 3,", "column 13: expected a mask"),
    ],
)
def test_what_is_wrong_is_named_where_it_stands(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_taskset(synthetic(LIKWID), text)


@pytest.mark.parametrize("flag", ["--cpu-list", "--cpu", "--c", "-c", "-ac", "taskset -c"])
def test_a_list_stands_behind_a_flag(flag: str) -> None:
    assert read_taskset(synthetic(LIKWID), f"{flag} 3")[0] == (3,)


@pytest.mark.parametrize("flag", ["--all-tasks", "--all", "-a", "taskset", "taskset -a"])
def test_without_it_digits_are_a_mask(flag: str) -> None:
    left, notes, _ = read_taskset(synthetic(LIKWID), f"{flag} 3")
    assert left == (0, 1) and notes == ["taskset takes 3 for a mask: processors 0-1; a list is -c 3"]


def test_a_mask_may_have_commas_between_its_words_and_names_what_is_there() -> None:
    machine = synthetic("core:40 pu:1")
    assert read_taskset(machine, "0x1,00000000")[:2] == ((32,), [])
    assert read_taskset(machine, "0x" + "0" * 30 + "2")[0] == (1,)
    with pytest.raises(InputError) as caught:
        read_taskset(synthetic(LIKWID), "100")
    # it may have been meant for a list
    assert "taskset takes 100 for a mask: processors 8; a list is -c 100" in str(caught.value.hint)


@pytest.mark.parametrize("meant", ["0-3", "0-3:2", "0,2-5", "0-1,4-5:1"])
def test_a_list_without_its_flag_is_offered_with_it(meant: str) -> None:
    with pytest.raises(InputError) as caught:
        read_taskset(synthetic(LIKWID), meant)
    assert str(caught.value.hint).endswith(f"--taskset '-c {meant}'")


def test_what_is_written_has_the_number_of_threads() -> None:
    rendering = write_taskset(synthetic(LIKWID), [(0, 1, 2, 5)] * 3)
    assert rendering.words == ("taskset", "-c", "0-2,5") and rendering.env == {"OMP_NUM_THREADS": "3"}
