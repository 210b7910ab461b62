# SPDX-License-Identifier: BSD-3-Clause
"""Faults that several nodes share, and facts that could not be read: they hide nothing, and are said once."""

import datetime
import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks._check.fleets import NOW, Node, regular
from nodewise.nodes.check import judge, new_fleet
from nodewise.nodes.findings import CheckResult
from nodewise.nodes.rule import joined, own_rules
from nodewise.nodes.site import Site
from nodewise.quiet.finding import Severity
from nodewise.report.exports.junit import junit_text
from tests.copies import copied


@pytest.fixture(scope="module")
def one() -> Node:
    return next(iter(regular(1, 1)))


def _judged(nodes: list[Node], **site: Any) -> CheckResult:
    rules = joined(own_rules())
    fleet = new_fleet(rules.values(), Site())
    fleet.read([io.BytesIO("\n".join(map(json.dumps, nodes)).encode())])
    return judge(fleet, rules, Site(**site), None, datetime.date(2026, 11, 23), NOW)


def _alike(one: Node, count: int) -> list[Node]:
    return [{**copied(one), "node": f"n{i:03}"} for i in range(count)]


def _found(result: CheckResult, rule: str) -> set[str]:
    return {n for f in result.findings if f.finding.name == rule and f.finding.severity == "wrong" for n in f.nodes}


@pytest.mark.parametrize("count", [6, 8, 10, 16, 19, 20, 28, 60])
def test_two_that_lost_half_their_memory_do_not_hide_each_other(one: Node, count: int) -> None:
    nodes = _alike(one, count)
    for node in nodes[1:3]:
        node["memory"]["total"] //= 2
    assert _found(_judged(nodes), "memory-size") == {"n001", "n002"}


@pytest.mark.parametrize(("count", "bad"), [(8, 2), (12, 2), (20, 2), (30, 3), (10, 3)])
def test_several_at_half_the_speed_do_not_hide_each_other(one: Node, count: int, bad: int) -> None:
    nodes = _alike(one, count)
    for i, node in enumerate(nodes):
        node["speed"]["dgemm"]["rate"] = (400 if i < bad else 800) + i % 5
    assert _found(_judged(nodes), "slow") == {f"n{i:03}" for i in range(bad)}


def test_of_what_is_too_many_to_be_exceptions_a_note_says_so(one: Node) -> None:
    nodes = _alike(one, 12)
    for i, node in enumerate(nodes):
        node["sensors"] = {**node["sensors"], "processor": (95 if i < 2 else 60) + 0.1 * i}
    result = _judged(nodes)
    assert not _found(result, "processor-heat")
    assert any("too many" in note and "2 of the 12" in note for note in result.notes)


@pytest.mark.parametrize(
    ("lacking", "severity"), [(1, Severity.WRONG), (2, Severity.NOTE), (4, Severity.NOTE), (5, None)]
)
def test_a_table_that_could_not_be_read_is_one_finding(one: Node, lacking: int, severity: Severity | None) -> None:
    nodes = _alike(one, 5)
    for node in nodes[:lacking]:
        node["software"] = None
    found = [f for f in _judged(nodes).findings if f.fact.startswith("software")]
    if severity is None:
        assert not found
        return
    names = tuple(f"n{i:03}" for i in range(lacking))
    assert [(f.fact, f.nodes, f.finding.severity) for f in found] == [("software", names, severity)]
    assert f"{5 - lacking} of 5 nodes report it" in found[0].finding.summary


@pytest.mark.parametrize("count", [5, 10])
def test_one_that_is_faster_is_not_slow(one: Node, count: int) -> None:
    nodes = _alike(one, count)
    nodes[1]["speed"]["dgemm"]["rate"] *= 2
    assert not _found(_judged(nodes), "slow")


@pytest.mark.parametrize(("count", "less"), [(100, 5), (60, 3), (200, 10)])
def test_up_to_a_twentieth_that_have_less_lost_it(one: Node, count: int, less: int) -> None:
    nodes = _alike(one, count + less)
    for node in nodes[:less]:
        node["memory"]["total"] //= 2
    assert _found(_judged(nodes), "memory-size") == {f"n{i:03}" for i in range(less)}


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_snapshots_of_one_time_the_same_counts_in_any_order(one: Node, tmp_path: Path, turned: bool) -> None:
    for name, kernel in (("a", "5.1"), ("b", "5.2")):
        (tmp_path / f"{name}.json").write_text(json.dumps({**one, "system": {**one["system"], "kernel": kernel}}))
    fleet = new_fleet(joined(own_rules()).values(), Site())
    fleet.read(sorted(tmp_path.iterdir(), reverse=turned))
    [place] = fleet.last_places()
    assert fleet.columns["system.kernel"][place] == "5.2"


def test_sizes_that_are_not_known_make_no_class_of_their_own(one: Node) -> None:
    nodes = _alike(one, 12)
    for node in nodes[:3]:
        node["memory"]["total"] = None
    assert [g.nodes for g in _judged(nodes).groups] == [12]


def test_the_order_of_reading_changes_nothing(one: Node) -> None:
    nodes = _alike(one, 10)
    for i, node in enumerate(nodes):
        node["kernel"]["command_line"] = f"mode={i % 3}"
        node["system"]["kernel"] = f"5.{i % 3}"
    assert _judged(nodes).findings == _judged(nodes[::-1]).findings != ()


@pytest.mark.parametrize(("failing", "failures"), [((), 0), (tuple(Severity), 1)])
def test_what_fails_in_junit_is_what_the_exit_code_counts(
    one: Node, failing: tuple[Severity, ...], failures: int
) -> None:
    nodes = _alike(one, 4)
    nodes[2]["system"]["kernel"] = "5.99"
    result = _judged(nodes, severities={r.id: Severity.NOTE for r in own_rules()})
    suite = ElementTree.fromstring(junit_text(result, failing).partition("\n")[2])
    assert (int(suite.attrib["failures"]) > 0) == bool(failures) and int(suite.attrib["tests"]) >= 1
