# SPDX-License-Identifier: BSD-3-Clause
"""A machine's layers as the OpenMP runtimes see them: which there are, which is which, counts, orders and groups."""

from pathlib import Path

import pytest

from nodewise.base.processors import format_processors
from nodewise.machine.sources import load_machine
from nodewise.placement.layers import KINDS, layers_of
from tests.placement.runtimes import uneven
from tests.placement.test_dialects import synthetic
from tests.placement.whole import hold

SHAPES = [
    "pack:2 l3:2 core:2 pu:2",
    "pack:2 numa:2 l3:1 l2:2 core:2 pu:2",
    "pack:2 die:2 l2:1 core:2 pu:1",
    "numa:2 core:2 pu:2",
    "pack:1 numa:1 core:3 pu:1",
    "pack:2 l3:1 l2:1 l1d:1 core:2 pu:1",
    "pack:2 numa:1 core:1 pu:1",
    "core:1 pu:1",
]
PARTS = [None, "1", "0,3", "1-2,5"]


def test_all_layers(tmp_path: Path) -> None:
    machines = {f"{shape} {allow}": synthetic(shape, allow) for shape in SHAPES[:4] for allow in PARTS}
    machines |= {shape: synthetic(shape) for shape in SHAPES[4:]}
    for name in ("2 fast and 8 slow", "uneven cores", "one socket less"):
        machines[name] = load_machine(str(uneven.write_machine(tmp_path / f"{name}.xml", uneven.SHAPES[name])))
    said = []
    for name, machine in machines.items():
        for how in ({}, {"respect": False}, {"native": True}):
            if how == {"respect": False} and name[-1] not in "13":
                continue
            found = layers_of(machine, **how)
            said.append(f"# {name} {how or ''}")
            said.append(
                f"{' '.join(found.kinds)} of {found.counts} by {found.ratios} uniform {found.uniform} deep {found.depth}"
            )
            said.append(f"{found.same} {found.core_kinds} beyond {format_processors(found.beyond)}")
            said += [f"  {row.processor} {row.ids} {row.sub} {row.core_kind}" for row in found.rows]
            said.append(" ".join(f"{kind}={found.level(kind)}" for kind in KINDS))
            for number in range(found.depth + 1):
                groups = " | ".join(format_processors(row.processor for row in group) for group in found.groups(number))
                said.append(f"{number}: {groups}")
            for number in range(found.depth):
                said.append(f"permuted {number}: {' '.join(str(row.processor) for row in found.sorted(number))}")
            said.append(
                f"ratios {[found.ratio(below, above) for below in range(found.depth) for above in range(-1, below + 1)]}"
            )
    hold("layers", said)


def test_the_layers_of_a_machine_by_hand() -> None:
    """Two sockets of two caches of two cores: the cache of a socket's only NUMA node is no layer of its own."""
    found = layers_of(synthetic("pack:2 numa:1 l3:2 core:2 pu:2"))
    assert found.kinds == ("socket", "l3_cache", "core", "thread") and found.same == {"numa_domain": "socket"}
    assert (found.counts, found.ratios, found.uniform) == ((2, 4, 8, 16), (2, 2, 2, 2), True)
    assert found.rows[5] == (5, (0, 1, 0, 1), (0, 1, 0, 1), -1)
    assert found.level("numa_domain") == 0 and found.level("ll_cache") == 1 and found.level("die") == -1
    assert found.ratio(3, 1) == 4 and found.ratio(2, -1) == 8 and found.ratio(2, 2) == 1
    assert [row.processor for row in found.sorted(1)][:4] == [0, 2, 4, 6]
    assert [row.processor for row in found.restricted({3, 9}).rows] == [3, 9]
    # what reads /proc/cpuinfo knows no caches and no memory
    assert layers_of(synthetic("pack:2 numa:1 l3:2 core:2 pu:2"), native=True).kinds == ("socket", "core", "thread")


@pytest.mark.parametrize(
    ("cores", "fast", "slow"),
    [
        ("", True, True),
        ("intel_core", True, False),
        ("intel_atom", False, True),
        ("eff0", False, True),
        ("eff1", True, False),
        ("eff2", False, False),
    ],
)
def test_cores_of_a_kind(tmp_path: Path, cores: str, fast: bool, slow: bool) -> None:
    machine = load_machine(str(uneven.write_machine(tmp_path / "m.xml", uneven.SHAPES["2 fast and 8 slow"])))
    found = layers_of(machine)
    assert (found.is_of(found.rows[0], cores), found.is_of(found.rows[-1], cores)) == (fast, slow)
    alike = layers_of(synthetic(SHAPES[0]))
    assert alike.is_of(alike.rows[0], cores) == (cores == "")
