# SPDX-License-Identifier: BSD-3-Clause
"""numactl's options as numactl(8) has them: numbers as C reads them, sets, names of options, what each refuses, what is written."""

from dataclasses import replace

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.dialects.numactl import read_numactl, write_numactl
from tests.placement.test_dialects import synthetic

TWO = "numa:2 core:2 pu:2"
LAST = "numactl goes by the last option that names processors or nodes to run on"
BEYOND = "numactl --all goes beyond what this process is held to, by {}: it does as far as the control group has them"


def _holed() -> Machine:
    """Processors 2 and 3 may not be used."""
    return synthetic(TWO, "0-1,4-7")


@pytest.mark.parametrize(
    ("text", "processors"),
    [
        # 0 leads octal numbers, 0x hexadecimal ones, and a sign may stand before them
        ("-C 007", (7,)),
        ("-C 0", (0,)),
        ("-C 00", (0,)),
        ("-C 0X5", (5,)),
        ("-C 0x5,06", (5, 6)),
        ("-C ++1", (1,)),
        ("-C 0-+1", (0, 1)),
        ("-C +5", (7,)),
        ("-C +0,2-3", (0, 4, 5)),
        ("-C !+0,2-3", (1, 6, 7)),
        ("-C all", (0, 1, 4, 5, 6, 7)),
        ("-N +1", (4, 5, 6, 7)),
        ("-N !1", (0, 1)),
        ("-C=0", (0,)),
        ("-C0", (0,)),
        # a program is started behind the options, and what stands behind it is its own
        ("numactl -C 0 ./a -C 1", (0,)),
        ("-C 0 -- -C 1", (0,)),
        ("-C 0 1", (0,)),
        ("0 ./a", (0,)),
        ("0-1", (0, 1)),
    ],
)
def test_sets_are_read_as_numactl_reads_them(text: str, processors: tuple[int, ...]) -> None:
    assert read_numactl(_holed(), text) == (processors, [], ())


#: By the one letter of an option on memory the long one.
LETTERS = {
    "-i": "--interleave",
    "-m": "--membind",
    "-p": "--preferred",
    "-P": "--preferred-many",
    "-w": "--weighted-interleave",
}


@pytest.mark.parametrize("letter", LETTERS)
def test_options_on_memory_are_kept_with_their_nodes(letter: str) -> None:
    long = LETTERS[letter]
    for text in (f"{letter} 0", f"{letter}0", f"{letter}=0", f"{long} 0", f"{long}=0"):
        assert read_numactl(_holed(), f"{text} -C 1") == ((1,), [], (f"{long}=0",))
        assert read_numactl(_holed(), text) == ((0, 1, 4, 5, 6, 7), [], (f"{long}=0",))


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        *((f"{option} -C 0", ("--localalloc",)) for option in ("-l", "--localalloc")),
        *((f"{option} -C 0", ("--balancing",)) for option in ("-b", "--balancing")),
        # letters without a value may stand together, and before one with a value
        ("-lC0", ("--localalloc",)),
        ("-lbC 0", ("--localalloc", "--balancing")),
        ("-alC 0", ("--localalloc",)),
        ("0 -l", ("--localalloc",)),
        ("-bm1 -C 0", ("--balancing", "--membind=1")),
        ("-aC 0", ()),
        ("--all -C 0", ()),
        ("-l -b --all -C 0", ("--localalloc", "--balancing")),
    ],
)
def test_options_without_a_value_take_none(text: str, memory: tuple[str, ...]) -> None:
    assert read_numactl(_holed(), text) == ((0,), [], memory)


@pytest.mark.parametrize("option", ["--physcpubind", "-C", "--cpunodebind", "-N", "--cpubind", "-c"])
def test_of_several_sets_the_last_counts_and_it_is_said(option: str) -> None:
    nodes = option not in ("--physcpubind", "-C")
    assert read_numactl(_holed(), f"{option} 1") == ((4, 5, 6, 7) if nodes else (1,), [], ())
    assert read_numactl(_holed(), f"-C 7 {option} 0") == ((0, 1) if nodes else (0,), [LAST], ())
    assert read_numactl(_holed(), f"{option} 0 -N 1") == ((4, 5, 6, 7), [LAST], ())


def test_all_goes_as_far_as_the_cpuset() -> None:
    machine = synthetic(TWO)
    held = replace(machine, limits=replace(machine.limits, processors=(0, 1), cpuset=(0, 1, 2, 3, 4)))
    assert read_numactl(held, "-a -C 2") == ((2,), [BEYOND.format("processor 2")], ())
    assert read_numactl(held, "-a -C 1-3") == ((1, 2, 3), [BEYOND.format("processors 2-3")], ())
    assert read_numactl(held, "-a -N 1") == ((4,), [BEYOND.format("processor 4")], ())
    assert read_numactl(held, "-a -C 0-1") == ((0, 1), [], ())
    # of no set the mask stays
    assert read_numactl(held, "-a") == ((0, 1), [], ())
    with pytest.raises(InputError) as caught:
        read_numactl(held, "-a -C 5")
    assert caught.value.hint == "there are processors 0-4"
    # where the cpuset is not known all of the machine may be in it
    assert read_numactl(synthetic(TWO, "0-1"), "-a -C 7")[0] == (7,)


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("-C 010", "-C=010: numactl refuses number 8, which is not there or not allowed", "there are processors 0-1,4-7"),
        ("-C 2", "-C=2: numactl refuses number 2, which is not there or not allowed", "there are processors 0-1,4-7"),
        ("-C 1-2", "-C=1-2: numactl refuses number 2, which is not there or not allowed", "there are processors 0-1,4-7"),
        ("2", "--physcpubind=2: numactl refuses number 2, which is not there or not allowed", "there are processors 0-1,4-7"),
        ("-C +6", "-C=+6: numactl refuses number 6, which is not there or not allowed", "there are 6 processors"),
        ("-N 2", "-N=2: numactl refuses number 2, which is not there or not allowed", "there are nodes 0-1"),
        ("-N +2", "-N=+2: numactl refuses number 2, which is not there or not allowed", "there are 2 nodes"),
        ("-C !0-7", "numactl: none of the processors named is there and allowed", "allowed are 0-1,4-7"),
        ("-C 09", "-C='09', column 1: expected a number, found '09'", None),
        ("-C 0x", "-C='0x', column 2: expected ',', '-' or the end, found 'x'", None),
        ("-C 0;1", "-C='0;1', column 2: expected ',', '-' or the end, found ';1'", None),
        ("-C 0,+", "-C='0,+', column 3: expected a number, found '+'", None),
        ("-C all,1", "-C='all,1', column 4: expected the end, found ',1'", None),
        ("-m 0 -C", "numactl: -C needs a value", None),
        ("--membind", "numactl: --membind needs a value", None),
        ("", "numactl: no option is given", "such as --physcpubind=0-3"),
        ("numactl ./a", "numactl: no option is given", "such as --physcpubind=0-3"),
        ("-- -C 0", "numactl: no option is given", "such as --physcpubind=0-3"),
        ("-x 0", "numactl has no option -x that places anything", "--physcpubind and --cpunodebind do"),
        *(
            (text, "numactl refuses --all behind a set of processors or nodes", "write it in front of them")
            for text in ("-C 0 --all", "-m0 -a", "-l -N 0 -a")
        ),
    ],
)  # fmt: skip
def test_what_numactl_refuses(text: str, what: str, hint: str | None) -> None:
    with pytest.raises(InputError) as caught:
        read_numactl(_holed(), text)
    assert (caught.value.what, caught.value.hint) == (what, hint)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("-C 1", "there is processor 0"),
        ("-C +1", "there is 1 processor"),
        ("-N 1", "there is node 0"),
        ("-N +1", "there is 1 node"),
    ],
)
def test_one_is_no_plural(text: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        read_numactl(synthetic("core:2 pu:1", "0"), text)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("shape", "processors", "option"),
    [
        (TWO, range(8), "--cpunodebind=0-1"),
        (TWO, range(4), "--cpunodebind=0"),
        (TWO, range(4, 8), "--cpunodebind=1"),
        (TWO, range(2), "--physcpubind=0-1"),
        (TWO, range(2, 8), "--physcpubind=2-7"),
        # of a single node the name says nothing
        ("numa:1 core:2 pu:2", range(4), "--physcpubind=0-3"),
    ],
)
def test_whole_nodes_are_written_as_such(shape: str, processors: range, option: str) -> None:
    written = write_numactl(synthetic(shape), [tuple(processors)] * 2)
    assert (written.words, written.env) == (("numactl", option), {"OMP_NUM_THREADS": "2"})
