# SPDX-License-Identifier: BSD-3-Clause
"""Texts as they stand in a command line, with the tool's name in front, and what hwloc-bind's own options come to."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.job import Job
from nodewise.placement.resolve import Request, resolve
from tests.placement.runtimes.mpirun5 import machine_of

MACHINE = "pack:2 numa:1 core:4 pu:1"


def read(name, text, threads=2):
    return resolve(machine_of(MACHINE), Job(threads), Request(**{name: text}))


@pytest.mark.parametrize(
    ("name", "pasted", "plain"),
    [
        ("likwid", "likwid-pin -c N:0-1", "N:0-1"),
        ("likwid", "-c N:0-1", "N:0-1"),
        ("likwid", "likwid-pin -C S1:0-1", "S1:0-1"),
        ("likwid", "-c 3,1", "3,1"),
        ("taskset", "taskset -c 0-3", "-c 0-3"),
        ("taskset", " taskset --cpu-list 0-3", "-c 0-3"),
        ("taskset", "taskset 0x3", "0x3"),
        ("hwloc", "hwloc-bind core:0-1", "core:0-1"),
        ("hwloc", "hwloc-bind --physical pu:3", "--physical pu:3"),
        ("numactl", "numactl --physcpubind=3", "--physcpubind=3"),
        ("openmpi4", "mpirun -np 2", "-np 2"),
        ("slurm", "srun -n 2", "-n 2"),
        ("mpich", "mpiexec -n 2", "-n 2"),
        ("aprun", "aprun -n 2", "-n 2"),
    ],
)
def test_the_tools_name_may_stand_in_front(name, pasted, plain):
    found, known = read(name, pasted), read(name, plain)
    assert (found.placement.by_rank, found.notes) == (known.placement.by_rank, known.notes)


@pytest.mark.parametrize(
    ("text", "hint", "column"),
    [
        ("0-3", "--taskset '-c 0-3'", 1),
        ("0-4:2,7", "--taskset '-c 0-4:2,7'", 1),
        ("0xgg", "--taskset '-c 0-3'", 1),
        ("taskset 1-5", "--taskset '-c 1-5'", 9),
        ("tasksets 1", "--taskset '-c 0-3'", 1),
    ],
)
def test_tasksets_hint_is_what_can_be_typed(text, hint, column):
    with pytest.raises(InputError, match=f"column {column}:") as refused:
        read("taskset", text)
    assert refused.value.hint.endswith(hint)
    read("taskset", hint.split("'")[1])


@pytest.mark.parametrize("text", ["likwid-pin N:0", "likwid-pin", "-cx"])
def test_what_is_no_expression_of_likwid_is_refused_still(text):
    with pytest.raises(InputError, match="column"):
        read("likwid", text)


@pytest.mark.parametrize(
    ("text", "processors", "memory"),
    [
        ("--cpubind core:0 --membind node:0", (0,), ("--preferred-many=0",)),
        ("core:5 --membind node:1", (5,), ("--preferred-many=1",)),
        ("--membind node:0 --cpubind core:0", (0,), ("--preferred-many=0",)),
        ("--strict --membind node:1 --cpubind core:4-5", (4, 5), ("--membind=1",)),
        ("--membind node:0-1 --mempolicy interleave", tuple(range(8)), ("--interleave=0-1",)),
        ("--cpubind core:0 core:1", (0, 1), ()),
        ("--single core:1-2", (1,), ()),
        ("--physical --cpubind pu:3 --quiet", (3,), ()),
    ],
)
def test_hwloc_binds_options_are_its_own(text, processors, memory):
    """As hwloc-bind 2.9 set them here, by taskset -cp and numactl --show."""
    found = read("hwloc", text)
    assert found.placement.places == (processors,) * 2
    assert found.memory == memory
