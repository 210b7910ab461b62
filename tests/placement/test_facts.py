# SPDX-License-Identifier: BSD-3-Clause
"""What is counted of a placement: threads by object, load, who sits next to whom, how tightly each is bound."""

import pytest

from nodewise.machine.sources import load_machine
from nodewise.placement.facts import Facts, placement_facts
from nodewise.placement.job import Job
from nodewise.placement.objects import numbered_objects, objects
from nodewise.placement.placement import Placement
from nodewise.placement.resolve import Request, fitting_threads, resolve
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


@pytest.mark.parametrize(
    ("gomp", "most", "idle", "crowded"),
    [
        ("0 1", 1, 7, False),
        ("0 0", 2, 7, True),
        ("0-15 0", 2, 0, False),
        ("0-13 0", 2, 1, True),
        ("0 2 4 6 8 10 12 14", 1, 0, False),
    ],
)
def test_threads_are_crowded_where_they_share_a_processor_and_a_core_has_none(
    gomp: str, most: int, idle: int, crowded: bool
) -> None:
    machine = load_machine("synthetic:pack:2 l3:2 core:2 pu:2")
    request = Request(gomp=gomp)
    found = placement_facts(
        machine, resolve(machine, Job(fitting_threads(machine, Job(1), request)), request).placement
    )
    assert (found.most_on_a_processor, found.idle_cores, found.crowded) == (most, idle, crowded)


def _facts(places: tuple[tuple[int, ...], ...], ranks: tuple[int, ...] = ()) -> Facts:
    """On two sockets of two caches of two cores of two hardware threads."""
    return placement_facts(load_machine("synthetic:pack:2 l3:2 core:2 pu:2"), Placement("it", places, ranks))


def test_how_tightly_threads_are_held_and_what_holds_them_whole() -> None:
    found = _facts(((0,), (0, 1), (1, 2), (0, 1, 2, 3), (3, 4), (7, 8), (99,), (0, 99), (98, 99)))
    # held whole by the machine's only node: all but those that have what is not there
    assert found.bound == {"processor": 2, "core": 1, "wider": 6}
    assert found.by_kind == {
        "core": (2, 0, 0, 0, 0, 0, 0, 0),
        "cache": (4, 0, 0, 0),
        "numa": (6,),
        "package": (5, 0),
    }
    assert found.loads == {0: 1, 99: 1}
    assert (found.threads, found.processors, found.cores, found.idle_cores) == (9, 9, 5, 3)
    # what may not be used is on no core
    part = load_machine("synthetic:pack:2 l3:2 core:2 pu:2", "0,2-15")
    assert placement_facts(part, Placement("it", ((0, 1), (2, 3)))).bound == {"wider": 1, "core": 1}


def test_neighbours_of_a_rank_meet_in_the_nearest_that_holds_both() -> None:
    found = _facts(((0,), (1,), (2,), (4,), (8,), (8,)))
    assert found.neighbours == {"core": 2, "cache": 1, "package": 1, "far": 1}
    assert found.sharing == {"core": 2, "cache": 3, "package": 4, "far": 1}
    # the last of a rank and the first of the next are none
    assert _facts(((0,), (1,), (2,), (4,)), (2, 2)).neighbours == {"core": 1, "package": 1}
    # of threads that may move nothing is said where they might be nearer
    assert _facts(((0, 1, 2), (3,))).neighbours == {} and _facts(((0, 1, 2), (4,))).neighbours == {"package": 1}
    assert _facts(((0, 8), (1, 9))).neighbours == {} and _facts(((0, 1), (0, 1))).neighbours == {"core": 1}
    assert _facts(((0, 1), (2, 3))).neighbours == {"cache": 1} and _facts(((0, 2), (4, 6))).neighbours == {"package": 1}
