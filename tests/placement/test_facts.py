# SPDX-License-Identifier: BSD-3-Clause
"""What is counted of a placement: threads by object, load, who sits next to whom, how tightly each is bound."""

import pytest

from nodewise.machine.sources import load_machine
from nodewise.placement.facts import placement_facts
from nodewise.placement.job import Job
from nodewise.placement.objects import numbered_objects, objects
from nodewise.placement.resolve import Request, resolve
from nodewise.report.text.placements import compare_rows
from tests.placement.whole import hold

#: Two sockets of two NUMA nodes; one node, that need not be named; sockets within which caches are shared by two.
MACHINES = (
    "pack:2 numa:2 l3:1 core:2 pu:2(indexes=" + ",".join(f"{i},{i + 8}" for i in range(8)) + ")",
    "pack:1 numa:1 l2:2 core:2 pu:1",
    "numa:1 pack:2 l3:2 core:2 pu:2",
    "core:3 pu:1",
)
ASKED: tuple[dict[str, str], ...] = (
    {"policy": "compact"},
    {"policy": "scatter"},
    {"policy": "os"},
    {"places": "cores", "bind": "close"},
)


def test_all_that_is_counted() -> None:
    said = []
    for text in MACHINES:
        for allow in (None, "1-2"):
            machine = load_machine(f"synthetic:{text}", allow)
            for asked in ASKED:
                for job in (Job(3), Job(9), Job(2, 2)):
                    facts = placement_facts(machine, resolve(machine, job, Request(**asked)).placement)
                    said.append(f"{text[:30]} {allow or 'all'} {asked} {job.threads}x{job.ranks}")
                    said += [f"  {name} {value}" for name, value in vars(facts).items()]
    hold("facts", said)


def test_one_numa_node_is_no_level_of_neighbours() -> None:
    machine = load_machine(f"synthetic:{MACHINES[1]}")
    placed = resolve(machine, Job(4), Request(policy="compact")).placement
    assert placement_facts(machine, placed).neighbours == {"cache": 2, "package": 1}


@pytest.mark.parametrize("text", MACHINES)
@pytest.mark.parametrize("kind", ("numa", "package"))
def test_numbered_objects_are_the_objects(text: str, kind: str) -> None:
    for allow in (None, "1-2"):
        machine = load_machine(f"synthetic:{text}", allow)
        assert sorted(numbered_objects(machine, kind).values()) == sorted(objects(machine, kind))


def test_objects_are_numbered_as_the_system_numbers_them() -> None:
    machine = load_machine(f"synthetic:{MACHINES[0]}", "4-7")
    assert numbered_objects(machine, "package") == {1: (4, 5, 6, 7)}
    assert numbered_objects(machine, "numa") == {2: (4, 5), 3: (6, 7)}


def test_neighbours_that_share_a_core_share_all_that_holds_it_and_there_is_no_cache_without_one() -> None:
    for text, has_cache in (("pack:2 core:8 pu:2", False), ("pack:2 l3:1 core:8 pu:2", True)):
        machine = load_machine(f"synthetic:{text}")
        one, two = (resolve(machine, Job(8), Request(policy=p)).placement for p in ("compact", "scatter"))
        rows = {row[0]: row[1:] for row in compare_rows(machine, one, two)}
        assert rows["neighbouring threads in one core"] == ("4 of 7", "0 of 7")
        # four of them by the core that they share
        assert rows[
            "neighbouring threads in one last-level cache" if has_cache else "neighbouring threads in one socket"
        ][0] == ("7 of 7")
        assert rows["neighbouring threads on two sockets"] == ("0 of 7", "7 of 7")
        assert any("cache" in name for name in rows) is has_cache
