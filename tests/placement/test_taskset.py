# SPDX-License-Identifier: BSD-3-Clause
"""taskset's texts: which word of a line is meant, and where what is wrong stands."""

from dataclasses import replace

import pytest

from nodewise.api.place import place
from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.machine.sources import restrict
from nodewise.placement.dialects.hwloc import read_hwloc
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


def _held(*, cpuset: tuple[int, ...]) -> Machine:
    """A machine of eight processors, of which this process is held to the first two."""
    there = synthetic(LIKWID)
    return replace(there, limits=replace(there.limits, processors=(0, 1), cpuset=cpuset))


@pytest.mark.parametrize(("text", "dialect"), [("-c 1-4", "taskset"), ("pu:1-4", "hwloc")])
def test_a_mask_set_anew_goes_as_far_as_the_cpuset(text: str, dialect: str) -> None:
    machine = _held(cpuset=(0, 1, 2, 3))
    placed = place(machine=machine, threads=3, **{dialect: text})
    asked = set(read_taskset(machine, text)[0]) if dialect == "taskset" else set(read_hwloc(machine, text)[0])
    assert asked <= {0, 1, 2, 3} and asked - {0, 1} and placed.mask == tuple(sorted(asked))
    assert any("goes beyond what this process is held to" in note for note in placed.notes)
    # nobody is to share what is not shared
    assert "mask narrower than plan" not in placed.traps
    launch = placed.launch()
    assert launch is not None and launch.words[:2] == ("taskset", "-c")
    # what others write starts within that mask, what sets one itself needs none
    assert placed.render("numactl").words[:2] == ("taskset", "-c") and "numactl" in placed.render("numactl").words
    assert placed.render(dialect).words.count("taskset") == (dialect == "taskset")


def test_where_the_cpuset_is_not_known_or_all_is_said_to_be_allowed_it_does_not() -> None:
    for machine in (_held(cpuset=()), _held(cpuset=(0, 1)), restrict(_held(cpuset=(0, 1, 2)), "0-1")):
        assert place(machine=machine, threads=1, taskset="-c 1-4").zones == ((1,),)
        with pytest.raises(InputError, match="allowed"):
            place(machine=machine, taskset="-c 2-4")


KNOWN = "known are: -a, -c, and a list behind -c"
NEXT = "-c has no value of its own, the list is the next word: --taskset '-c 0-3'"
MASK = "expected a mask of hexadecimal digits, or -c and a list"


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("-p 3", "taskset has no option -p that places a program", KNOWN),
        ("-cp 3", "taskset has no option -cp that places a program", KNOWN),
        ("--pid 3", "taskset has no option --pid that places a program", KNOWN),
        ("--cpux 3", "taskset has no option --cpux that places a program", KNOWN),
        ("-c", "taskset: there is no list behind -c", "write both as one text: --taskset '-c 0-3'"),
        ("-c0", f"taskset='-c0', column 1: {MASK}", NEXT),
        ("x", f"taskset='x', column 1: {MASK}", "a list of processors is written as for taskset: --taskset '-c 0-3'"),
        (
            "0-3,5",
            f"taskset='0-3,5', column 1: {MASK}",
            "a list of processors is written as for taskset: --taskset '-c 0-3,5'",
        ),
        (
            "-a 0-3",
            f"taskset='0-3', column 4: {MASK}",
            "a list of processors is written as for taskset: --taskset '-c 0-3'",
        ),
        (
            "g" * 60,
            f"taskset={'g' * 60!r}, column 1: {MASK}",
            "a list of processors is written as for taskset: --taskset '-c 0-3'",
        ),
        (
            "g" * 61,
            f"taskset={'g' * 60 + '…'!r}, column 1: {MASK}",
            "a list of processors is written as for taskset: --taskset '-c 0-3'",
        ),
        (
            "-c 3-1",
            "taskset='-c 3-1', column 4: expected a range that runs upwards, over at most 65536 numbers, found '3-1'",
            None,
        ),
        ("-c 0;1", "taskset='-c 0;1', column 5: expected ',', '-' or the end, found ';1'", None),
        ("-c x", "taskset='-c x', column 4: expected a processor's number, found 'x'", None),
        ("0x100", "taskset: none of the processors 8 is there and allowed", "; allowed are 0-7"),
        (
            "0",
            "taskset: none of the processors named is there and allowed",
            "taskset takes 0 for a mask: no processor; a list is -c 0; allowed are 0-7",
        ),
    ],
)
def test_each_refusal_in_full(text: str, what: str, hint: str | None) -> None:
    with pytest.raises(InputError) as caught:
        read_taskset(synthetic(LIKWID), text)
    assert (caught.value.what, (caught.value.hint or "").lstrip("; ") or None) == (what, hint and hint.lstrip("; "))


def test_a_mask_is_of_at_most_as_many_digits_as_there_may_be_processors() -> None:
    machine = synthetic(LIKWID)
    assert read_taskset(machine, "0x" + "0" * 16383 + "3")[0] == (0, 1)
    with pytest.raises(InputError, match="expected a mask"):
        read_taskset(machine, "0x" + "0" * 16384 + "3")


@pytest.mark.parametrize(
    ("text", "processors"),
    [
        ("-c 0,2-5:3", (0, 2, 5)),
        ("taskset -c 1 ./a -c 2", (1,)),
        ("taskset -c 1 -- ./a", (1,)),
        ("taskset 0x3 ./a 0x1", (0, 1)),
        ("0x3", (0, 1)),
        ("0xA5", (0, 2, 5, 7)),
        ("--cpu-list --all-tasks 3", (3,)),
    ],
)
def test_what_is_read_without_a_note(text: str, processors: tuple[int, ...]) -> None:
    assert read_taskset(synthetic(LIKWID), text) == (processors, [], ())
