# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes are of one class: those of which few have less memory, and sizes that kernels leave a little apart."""

import io
import json

import pytest

from benchmarks._check.fleets import Node, regular
from nodewise.nodes.check import groups_of, new_fleet
from nodewise.nodes.rule import Rule, joined, own_rules
from nodewise.nodes.site import Site
from tests.copies import copied


@pytest.fixture(scope="module")
def own() -> dict[str, Rule]:
    return joined(own_rules())


@pytest.fixture(scope="module")
def sound(own: dict[str, Rule]) -> list[Node]:
    """Forty nodes of one class."""
    nodes = list(regular(400, 1))
    fleet = new_fleet(own.values(), Site())
    fleet.read([io.BytesIO("".join(json.dumps(n) + "\n" for n in nodes).encode())])
    return [nodes[i] for i in groups_of(fleet, Site())[0].members if not nodes[i]["accelerators"]][:40]


@pytest.mark.parametrize(("less", "classes"), [(4, [100]), (5, [95, 5])])
def test_less_than_a_twentieth_of_the_others_that_has_less_is_a_part_of_their_class(
    own: dict[str, Rule], sound: list[Node], less: int, classes: list[int]
) -> None:
    nodes = [node for node in copied(sound[:1]) for _ in range(100)]
    nodes = [{**node, "node": f"m{i:03}", "memory": dict(node["memory"])} for i, node in enumerate(nodes)]
    for node in nodes[:less]:
        node["memory"]["total"] //= 2
    fleet = new_fleet(own.values(), Site())
    fleet.read([io.BytesIO("".join(json.dumps(n) + "\n" for n in nodes).encode())])
    assert [len(group.members) for group in groups_of(fleet, Site())] == classes


@pytest.mark.parametrize(("more", "classes"), [(1.02, [10]), (1.04, [5, 5])])
def test_sizes_of_memory_that_are_near_belong_together(
    own: dict[str, Rule], sound: list[Node], more: float, classes: list[int]
) -> None:
    nodes = [{**sound[0], "node": f"m{i}", "memory": dict(sound[0]["memory"])} for i in range(10)]
    for node in nodes[:5]:
        node["memory"]["total"] = int(node["memory"]["total"] * more)
    fleet = new_fleet(own.values(), Site())
    fleet.read([io.BytesIO("".join(json.dumps(n) + "\n" for n in nodes).encode())])
    assert [len(group.members) for group in groups_of(fleet, Site())] == classes
