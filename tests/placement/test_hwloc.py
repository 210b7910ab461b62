# SPDX-License-Identifier: BSD-3-Clause
"""Names of hwloc's objects, as hwloc-calc itself takes them."""

import shutil
import subprocess

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.dialects.hwloc import read_hwloc
from tests.placement.test_dialects import LIKWID, synthetic

#: Its caches are of each level one, of unlike widths; its processors are numbered as they lie.
CACHES = "pack:2 numa:1 l3:2 l2:2 l1d:1 core:2 pu:2"

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


@pytest.mark.parametrize("letters", ["p", "c", "x:0", "l4:0", "l0:0", "i:0"])
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
