# SPDX-License-Identifier: BSD-3-Clause
"""Nodes whose speed was to be measured and was not: nobody may take them for sound without a word."""

import datetime
import io
import json

import pytest

from benchmarks._check.fleets import NOW, Node, regular
from nodewise.nodes.check import judge, new_fleet
from nodewise.nodes.findings import CheckResult, NodeFinding
from nodewise.nodes.rule import joined, own_rules
from nodewise.nodes.site import Site
from nodewise.quiet.finding import Severity
from tests.copies import copied

TODAY = datetime.date(2026, 11, 23)
WHY = "fewer than six runs ended within 10 s"


@pytest.fixture(scope="module")
def alike() -> list[Node]:
    [made] = regular(1, 1)
    return [{**copied(made), "node": f"n{i}", "taken": NOW} for i in range(1, 13)]


def _judged(nodes: list[Node]) -> CheckResult:
    rules = joined(own_rules())
    fleet = new_fleet(rules.values(), Site())
    fleet.read([io.BytesIO("".join(json.dumps(n) + "\n" for n in nodes).encode())])
    return judge(fleet, rules, Site(), None, TODAY, NOW + 100)


def _said(result: CheckResult) -> list[NodeFinding]:
    return [f for f in result.findings if f.finding.name == "not-measured"]


def test_of_none_that_was_measured_it_is_said(alike: list[Node]) -> None:
    for node in alike:
        node["speed"], node["absent"] = {}, {**node["absent"], "speed.bandwidth": WHY}
    [found] = _said(_judged(alike))
    assert found.finding.severity is Severity.NOISY and len(found.nodes) == 12
    assert found.finding.summary.startswith("bandwidth was not measured on 12 of 12 nodes: n[1-12]")
    assert found.finding.evidence == (f"n[1-12]: {WHY}",)


def test_of_one_the_reason_is_told_and_of_those_that_nobody_asked_nothing(alike: list[Node]) -> None:
    nodes = copied(alike)
    for node in nodes:
        node["absent"] = {k: v for k, v in node["absent"].items() if not k.startswith("speed.")}
    assert _said(_judged(nodes)) == []
    nodes[3]["absent"]["speed.disk"] = "no room"
    [found] = _said(_judged(nodes))
    assert found.nodes == ("n4",) and found.finding.evidence == ("n4: no room",)


@pytest.mark.parametrize(("slower", "count"), [(0.7, 3), (0.75, 6)])
def test_no_number_of_slow_nodes_is_a_kind_of_its_own(alike: list[Node], slower: float, count: int) -> None:
    nodes = [{**copied(alike[0]), "node": f"n{i}", "taken": NOW} for i in range(40)]
    for i, node in enumerate(nodes):
        factor = slower if i < count else 1.0
        rate = 100.0 * factor * (1 + 0.001 * (i % 7))
        node["speed"] = {"triad": {"rate": rate, "low": rate, "high": rate, "unit": "GB/s", "threads": 1, "runs": 9}}
        node["speed"]["triad"] |= {"disturbed": 0, "unreached": None}
    found = {n for f in _judged(nodes).findings if f.finding.name == "slow" for n in f.nodes}
    assert found == {f"n{i}" for i in range(count)}
