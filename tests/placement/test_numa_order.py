# SPDX-License-Identifier: BSD-3-Clause
"""Tools that use hwloc count NUMA nodes as it does, by their places in the tree; numactl and likwid by the system's numbers."""

import random
import shutil
import subprocess

import pytest

from nodewise.api.place import place
from nodewise.machine.sources import load_machine
from nodewise.placement.objects import numbered_objects, objects

#: The second half of the processors belongs to the node whose number is the lower one.
TURNED = "numa:2(indexes=1,0) core:2 pu:1"


@pytest.mark.parametrize(
    ("dialect", "text", "ranks", "places"),
    [
        # as hwloc-calc 2.9 answers (`numa:0 --po -I PU`, `--pi` for the system's number)
        ("hwloc", "numa:0", 1, [[0, 1]]),
        ("hwloc", "numa:1.core:0", 1, [[2]]),
        # as Hydra of MPICH 4.0.2 and PRRTE of Open MPI 5.0 bind
        ("mpich", "-bind-to numa", 2, [[0, 1], [2, 3]]),
        ("openmpi5", "--map-by numa --bind-to numa", 2, [[0, 1], [2, 3]]),
        ("openmpi4", "--map-by numa --bind-to numa", 2, [[0, 1], [2, 3]]),
        ("numactl", "--cpunodebind=0", 1, [[2, 3]]),
    ],
)
def test_nodes_are_counted_as_the_tool_does(dialect: str, text: str, ranks: int, places: list[list[int]]) -> None:
    found = place(**{dialect: text}, machine=f"synthetic:{TURNED}", ranks=ranks, threads=1)
    assert [sorted(p) for p in found.places] == places


def test_the_orders_are_the_same_where_numbers_rise() -> None:
    machine = load_machine("synthetic:pack:2 numa:2 core:2 pu:2")
    assert objects(machine, "numa") == [*numbered_objects(machine, "numa").values()]


@pytest.mark.skipif(shutil.which("hwloc-calc") is None, reason="no hwloc-calc")
@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_hwloc_itself(seed: int) -> None:
    draw = random.Random(seed)
    packages, nodes, cores = draw.choice([1, 2]), draw.choice([1, 2, 3]), draw.choice([1, 2])
    numbers = [*range(packages * nodes)]
    pus = [*range(packages * nodes * cores)]
    draw.shuffle(numbers)
    draw.shuffle(pus)
    listed = [",".join(map(str, some)) for some in (numbers, pus)]
    text = f"pack:{packages} numa:{nodes}(indexes={listed[0]}) core:{cores} pu:1(indexes={listed[1]})"
    machine = load_machine(f"synthetic:{text}")
    for i, zone in enumerate(objects(machine, "numa")):
        words = ["hwloc-calc", "-i", text, f"numa:{i}", "--po", "-I", "PU"]
        asked = subprocess.run(words, capture_output=True, text=True, check=True, timeout=20).stdout
        assert sorted(zone) == sorted(map(int, asked.strip().split(",")))
