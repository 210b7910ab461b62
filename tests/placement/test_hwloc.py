# SPDX-License-Identifier: BSD-3-Clause
"""Names of hwloc's objects, as hwloc-calc itself takes them."""

import shutil
import subprocess
from dataclasses import replace

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.dialects.hwloc import read_hwloc, write_hwloc
from nodewise.placement.dialects.taskset import read_taskset
from tests.placement.test_dialects import LIKWID, synthetic

#: Its caches are of each level one, of unlike widths; its processors are numbered as they lie.
CACHES = "pack:2 numa:1 l3:2 l2:2 l1d:1 core:2 pu:2"
KIND = "a kind of object (machine, package, die, numanode, l3cache, l2cache, l1cache, core, pu)"
OPTIONS = "--physical, --logical, --cpubind, --membind, --mempolicy, --strict, --single or an object"

#: A location, and what hwloc-calc 2.9 lists for it by `--taskset`-like sets on that machine, from its width: 2 packages of 16.
LOCATIONS = [
    *(
        (f"{word}:1", set(range(16, 32)))
        for word in ("package", "PACKAGE", "socket", "numanode", "node", "numa", "pack")
    ),
    *((f"{word}:1", set(range(8, 16))) for word in ("l3", "l3cache", "L3Cache", "l3u", "l3ucache")),
    *((f"{word}:1", set(range(4, 8))) for word in ("l2", "l2cache", "L2Cache", "l2u", "l2ucache")),
    *((f"{word}:1", set(range(4, 8))) for word in ("l1", "l1cache", "l1d", "L1dCache", "l1dcache")),
    *((f"{word}:1", {2, 3}) for word in ("core", "Core", "co")),
    ("pu:1", {1}),
    ("machine:0", set(range(32))),
    ("root", set(range(32))),
    ("package:1.l2:1", set(range(20, 24))),
    ("core:1 pu:31", {2, 3, 31}),
    ("package:0 ~l3:0", set(range(8, 16))),
    ("l3:0 xcore:0-4", set(range(8))),
    ("l3:0 x0x00000018", {3, 4}),
    ("core:0 ^pu:0-2", {1, 2} - {1}),
]


@pytest.mark.parametrize(("text", "expected"), LOCATIONS)
def test_a_location_is_what_hwloc_makes_of_it(text: str, expected: set[int]) -> None:
    assert set(read_hwloc(synthetic(CACHES), text)[0]) == expected


@pytest.mark.skipif(not shutil.which("hwloc-calc"), reason="hwloc-calc is asked itself")
def test_hwloc_calc_says_the_same() -> None:
    for text, expected in LOCATIONS:
        command = ["hwloc-calc", "-i", CACHES, "--po", "-I", "pu", *text.split()]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        if not asked.returncode and asked.stdout.strip():
            assert {int(n) for n in asked.stdout.split(",")} == expected, text


@pytest.mark.parametrize("letters", ["p", "c", "c:0", "p:0", "m:0", "d:0", "n:0", "s:0", "x:0", "l4:0", "l0:0", "i:0"])
def test_a_name_cut_too_short_is_refused(letters: str) -> None:
    with pytest.raises(InputError):
        read_hwloc(synthetic(CACHES), letters)


def test_what_is_not_there_is_said_once_and_alone_refused() -> None:
    machine = synthetic(LIKWID)
    left, notes, _ = read_hwloc(machine, "core:0 core:9 core:9 package:5")
    assert left == (0, 4) and notes == ["hwloc: core:9 and package:5 are not there: left out"]
    assert read_hwloc(machine, "core:0 core:9")[1] == ["hwloc: core:9 is not there: left out"]
    with pytest.raises(InputError, match="core:9 is not there, and nothing else is named"):
        read_hwloc(machine, "core:9")


def test_memory_follows_the_nodes_of_what_is_named() -> None:
    two = synthetic("numa:2 core:2 pu:1")

    def memory(text: str) -> tuple[str, ...]:
        return read_hwloc(two, f"--cpubind core:0 {text}")[2]

    assert memory("") == ()
    assert memory("--membind core:3") == ("--preferred-many=1",)
    assert memory("--membind core:3 --strict") == ("--membind=1",)
    # strict says nothing of an interleave, and the first touch no nodes
    assert memory("--membind all --mempolicy interleave --strict") == ("--interleave=0-1",)
    assert memory("--membind core:0 --mempolicy firsttouch --strict") == ("--localalloc",)
    # with memory alone the processors are left as they are
    assert read_hwloc(two, "--membind node:1")[0] == (0, 1, 2, 3)
    assert read_hwloc(two, "--single core:2-3")[0] == (2,)
    with pytest.raises(InputError, match="names no NUMA node"):
        read_hwloc(two, "--cpubind core:0 --membind 0x0")


def test_dies_and_the_caches_of_each_level() -> None:
    machine = synthetic("pack:1 die:2 l3:1 l2:2 l1d:2 core:1 pu:1")
    for text, left in (
        ("die:1", (4, 5, 6, 7)),
        ("di:0", (0, 1, 2, 3)),
        ("l3:1", (4, 5, 6, 7)),
        ("l2:1", (2, 3)),
        ("l1:1", (1,)),
    ):
        assert read_hwloc(machine, text) == (left, [], ())
    assert write_hwloc(machine, [(0, 1, 2, 3, 6)]).words == ("hwloc-bind", "die:0", "l1cache:6", "--")


#: By a set of processors of two packages of two caches of two cores of two hardware threads the words for it.
WRITTEN = {
    "0-15": "all",
    "0-7": "package:0",
    "0-3": "l3cache:0",
    "0-3,8-11": "l3cache:0 l3cache:2",
    "2-5": "core:1-2",
    "0-5": "l3cache:0 core:2",
    "4-15": "l3cache:1 package:1",
    "2-7": "core:1 l3cache:1",
    "1-2": "pu:1-2",
    "1": "pu:1",
    "1,4": "pu:1 pu:4",
    "2-5,8-9": "core:1-2 core:4",
    "2-3,6-9": "core:1 core:3-4",
    "0,2-6": "pu:0 core:1-2 pu:6",
    "1-2,8-15": "pu:1-2 package:1",
}


@pytest.mark.parametrize("processors", WRITTEN)
def test_a_set_is_written_as_the_fewest_and_largest_objects(processors: str) -> None:
    machine = synthetic("pack:2 l3:2 core:2 pu:2")
    place = read_taskset(machine, f"-c {processors}").processors
    written = write_hwloc(machine, [place] * 3)
    assert written.words == ("hwloc-bind", *WRITTEN[processors].split(), "--")
    assert written.env == {"OMP_NUM_THREADS": "3"}
    assert read_hwloc(machine, " ".join(written.words)) == (place, [], ())


def test_an_endless_mask_has_all_processors_above_its_groups() -> None:
    machine = synthetic("core:40 pu:1")
    assert read_hwloc(machine, "0xf...f,0x0000000c")[:2] == ((2, 3, *range(32, 40)), [])


def test_within_a_cpuset_a_set_is_written_as_a_mask() -> None:
    machine = synthetic("pack:2 l3:2 core:2 pu:2")
    held = replace(machine, limits=replace(machine.limits, processors=(2, 3, 4, 5), cpuset=(2, 3, 4, 5)))
    assert write_hwloc(held, [(2, 3, 5)]).words == ("hwloc-bind", "0x2c", "--")
    # hwloc counts the cores that the cpuset has
    assert read_hwloc(held, "core:0")[0] == (2, 3) and read_hwloc(held, "0x2c")[0] == (2, 3, 5)
    with pytest.raises(InputError, match="processors are not on this machine"):
        write_hwloc(machine, [(0, 16)])


LACKING = "hwloc: {} not there: left out"


@pytest.mark.parametrize(
    ("text", "processors", "notes"),
    [
        # of indexes that are not there four are named
        ("core:5-8", "10-15", [LACKING.format("core 8 is")]),
        ("core:7-11", "14-15", [LACKING.format("core 8, core 9, core 10 and core 11 are")]),
        ("core:7-12", "14-15", [LACKING.format("core 8, core 9, core 10, core 11 and … are")]),
        ("core:7-65543", "14-15", [LACKING.format("core 8, core 9, core 10, core 11 and … are")]),
        ("core:0 core:8-10", "0-1", [LACKING.format("core:8-10 is")]),
        ("core:0 die:0-2", "0-1", [LACKING.format("die:0-2 is")]),
        ("core:0 package:2.core:0 core:9", "0-1", [LACKING.format("package:2 and core:9 are")]),
        # so many that go round; from past the end on they begin at the start
        ("core:7:2", "14-15,0-1", []),
        ("core:8:1", "0-1", []),
        ("core:9:2", "0-3", []),
        ("package:1.core:3:2", "14-15,8-9", []),
        ("core:0:2.pu:1", "1,3", []),
        ("core:3-3", "6-7", []),
        # systems' numbers and logical ones, the last of which counts
        ("-p pu:1", "1", []),
        ("-l pu:1", "1", []),
        ("core:odd.pu:1", "3,7,11,15", []),
        ("core:6-", "12-15", []),
        # everything, and all above the lowest 32
        ("0xf...f", "0-15", []),
        ("0xf...f,0x0000000c", "2-3", []),
        ("0x,0x3", "0-1", []),
        ("0x3,,0x3", "0-1", ["processors 64-65 are not there or not allowed: left out"]),
        # the program that is started
        ("hwloc-bind core:0 ./a", "0-1", []),
        ("hwloc-bind core:0 -- core:1", "0-1", []),
        ("hwloc-bind 0x3 prog core:1", "0-1", []),
        ("hwloc-bind all core", "0-15", []),
        ("hwloc-bind -p core:0 ~pu:0 prog", "1", []),
        ("hwloc-bind core:0 xpu:1 prog", "1", []),
        ("hwloc-bind core:0 ^pu:1-2 prog", "0,2", []),
        ("hwloc-bind --mempolicy interleave core:1 prog", "2-3", []),
    ],
)
def test_what_a_text_comes_to_with_its_notes(text: str, processors: str, notes: list[str]) -> None:
    machine = synthetic("pack:2 l3:2 core:2 pu:2")
    assert read_hwloc(machine, text) == (read_taskset(machine, f"-c {processors}").processors, notes, ())


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("core:3-2", 6, "a range that runs upwards, over what is there"),
        ("core:0-65537", 6, "a range that runs upwards, over what is there"),
        ("core:9-", 6, "a range that runs upwards, over what is there"),
        ("core:0:x", 8, "how many"),
        ("core:oddx", 6, "the index of core, all, odd or even"),
        ("core", 5, "':' and an index"),
        ("core:0.pu", 10, "':' and an index"),
        ("core:0,1", 7, "a space before the next location"),
        ("core:all~core:0", 9, "a space before the next location"),
        ("core:0 OS:0", 8, "an object with processors: devices are not known of a machine here"),
        ("pci:0", 1, "an object with processors: devices are not known of a machine here"),
        ("core:0 ./a", 8, f"{KIND}, found './a'"),
        ("core:0 x 0x3", 8, f"{KIND}, found 'x 0x3'"),
        ("hwloc-bindx core:0", 1, KIND),
        ("hwloc-bind ./a", 12, KIND),
        ("hwloc-bind", 11, KIND),
        ("--mempolicy pear core:0", 13, "a policy (bind, interleave, firsttouch)"),
        *(
            (f"{text}--pear core:0", len(text) + 1, f"{OPTIONS}, found '--pear")
            for text in ("", "core:1 ")
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_where_it_stands(text: str, column: int, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read_hwloc(synthetic("pack:2 l3:2 core:2 pu:2"), text)
    assert f"column {column}: expected {expected}" in caught.value.what


def test_systems_numbers_are_those_of_physical_and_logical_ones_those_of_hwloc() -> None:
    machine = synthetic(LIKWID)
    for option, left in (("-p", 1), ("--physical", 1), ("-l", 4), ("--logical", 4), ("-p -l", 4), ("-l -p", 1)):
        assert read_hwloc(machine, f"{option} pu:1")[0] == (left,)
    with pytest.raises(InputError) as caught:
        read_hwloc(machine, "core:9")
    assert caught.value.hint == "name objects that this machine has"
    with pytest.raises(InputError) as caught:
        read_hwloc(machine, "core:0 --membind 0x0")
    assert caught.value.hint == "name one, such as --membind node:0"
    # what memory names may be missing where processors are there, and not the other way round
    assert read_hwloc(machine, "core:0 --membind all core:9") == (
        (0, 4),
        ["hwloc: core:9 is not there: left out"],
        ("--preferred-many=0",),
    )
    with pytest.raises(InputError, match="core:9 is not there, and nothing else is named"):
        read_hwloc(machine, "core:9 --membind all")
