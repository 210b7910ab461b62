# SPDX-License-Identifier: BSD-3-Clause
"""Which of the processors that a text names may be used, of a machine where two of four are allowed."""

from dataclasses import replace

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.machine.sources import load_machine
from nodewise.placement.processor_sets import permitted, permitted_anew, read_ranges
from nodewise.placement.scan import Scanner


def _machine(cpuset: tuple[int, ...] = (0, 1, 2, 3)) -> Machine:
    whole = load_machine("synthetic:core:4 pu:1")
    return replace(whole, limits=replace(whole.limits, processors=(0, 1), cpuset=cpuset))


def test_those_that_are_there_and_allowed_are_left() -> None:
    assert permitted(_machine(), {1, 0}, "taskset") == ((0, 1), [])
    assert permitted(_machine(), {1, 2}, "taskset") == (
        (1,),
        ["processor 2 is not there or not allowed: left out"],
    )
    assert permitted(_machine(), {0, 3, 9}, "taskset") == (
        (0,),
        ["processors 3,9 are not there or not allowed: left out"],
    )


@pytest.mark.parametrize(("asked", "named"), [({2}, "2"), ({2, 3, 9}, "2-3,9"), (set(), "named")])
def test_where_none_is_left_they_are_named(asked: set[int], named: str) -> None:
    with pytest.raises(InputError) as caught:
        permitted(_machine(), asked, "taskset")
    assert caught.value.what == f"taskset: none of the processors {named} is there and allowed"
    assert caught.value.hint == "allowed are 0-1"


def test_a_mask_of_its_own_may_be_wider_as_far_as_the_cpuset() -> None:
    def note(named: str) -> str:
        return f"taskset goes beyond what this process is held to, by {named}: it does as far as the control group has them"

    assert permitted_anew(_machine(), {0, 1}, "taskset") == ((0, 1), [])
    assert permitted_anew(_machine(), {1, 2}, "taskset") == ((1, 2), [note("processor 2")])
    assert permitted_anew(_machine(), {2, 3}, "taskset") == ((2, 3), [note("processors 2-3")])
    assert permitted_anew(_machine((0, 1, 2)), {2, 3}, "taskset") == (
        (2,),
        ["processor 3 is not there or not allowed: left out", note("processor 2")],
    )
    # where the cpuset is not known, what the process is held to is all there is
    with pytest.raises(InputError, match="none of the processors 2 is there and allowed"):
        permitted_anew(_machine(()), {2}, "taskset")


def test_lists_are_read_to_their_end() -> None:
    assert read_ranges(Scanner("-c", "3")) == {3}
    assert read_ranges(Scanner("-c", "0-3,8,10-14:2")) == {0, 1, 2, 3, 8, 10, 12, 14}
    assert read_ranges(Scanner("-c", "0-1,1-2"), strides=False) == {0, 1, 2}
    for text in ("10-14:2", "1,", "1;2"):
        with pytest.raises(InputError):
            read_ranges(Scanner("-c", text), strides=False)
