# SPDX-License-Identifier: BSD-3-Clause
"""The last snapshot of a node in a history: the newest is found, and no more of a large history is read than that takes."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks._check.fleets import Node, regular
from nodewise.nodes import last_known
from nodewise.nodes.check import new_fleet
from nodewise.nodes.fleet import Fleet
from nodewise.nodes.last_known import read_last
from nodewise.nodes.rule import own_rules
from nodewise.nodes.site import Site


@pytest.fixture(scope="module")
def two() -> list[Node]:
    return list(regular(2, 1))


@pytest.fixture
def fleet() -> Fleet:
    return new_fleet([r for r in own_rules() if r.kind == "change"], Site())


def _line(node: Node, taken: float) -> str:
    return json.dumps({**node, "taken": taken}) + "\n"


def test_of_a_large_history_only_the_newest_is_read(
    fleet: Fleet, two: list[Node], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read it is once: the others are passed over as bytes."""
    one, other = two
    for day in range(4):
        (tmp_path / f"day-{day}.jsonl").write_text(_line(one, day) * 300 + _line(other, day) * 700)
    (tmp_path / "day-9.jsonl").write_text(_line(other, 9) * 900)
    read = []

    def counted(text: bytes) -> Any:
        read.append(text)
        return parse(text)

    parse = last_known.parsed
    monkeypatch.setattr(last_known, "parsed", counted)
    assert read_last(fleet, tmp_path, one["node"]) and fleet.taken == [3] and len(read) == 1
    assert fleet.origins == [str(tmp_path / "day-3.jsonl")]


def test_a_file_of_the_nodes_name_comes_first_in_any_of_its_forms(
    fleet: Fleet, two: list[Node], tmp_path: Path
) -> None:
    one, other = two
    (tmp_path / "z.jsonl").write_text(_line(one, 1))
    (tmp_path / f"{one['node']}.jsonl").write_text(_line(one, 2) + _line(one, 3) + _line(other, 4) + "x\n")
    assert read_last(fleet, tmp_path, one["node"]) and fleet.taken == [3]
    (tmp_path / f"{one['node']}.json").write_text(json.dumps({**one, "taken": 5}, indent=1))
    assert read_last(fleet, tmp_path, one["node"]) and fleet.taken == [3, 5] and fleet.unreadable == []


def test_what_is_broken_is_passed_over_and_said(fleet: Fleet, two: list[Node], tmp_path: Path) -> None:
    one, _ = two
    (tmp_path / f"{one['node']}.json").write_text("{broken")
    (tmp_path / "a.json").mkdir()
    with (tmp_path / "b.jsonl").open("wb") as file:
        file.write(b"x" * (9 << 20) + b"\n" + _line(one, 6).encode() + b"y" * (9 << 20))
    assert read_last(fleet, tmp_path, one["node"]) and fleet.taken == [6]
    assert fleet.unreadable_count == 1 and fleet.unreadable[0].problem == "no snapshot of this node is in it"


def test_the_search_ends_when_the_time_is_over(fleet: Fleet, two: list[Node], tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(_line(two[1], 1))
    assert read_last(fleet, tmp_path, two[0]["node"])
    assert not read_last(fleet, tmp_path, two[0]["node"], 0.0) and fleet.names == []


@pytest.mark.parametrize("layout", ["pretty", "list", "pretty list", "list, an element a line"])
def test_a_history_in_any_layout_gives_the_last_one(fleet: Fleet, two: list[Node], tmp_path: Path, layout: str) -> None:
    one, other = two
    several = [{**one, "taken": 1}, other, {**one, "taken": 3}, other]
    text = {
        "pretty": "\n".join(json.dumps(n, indent=2) for n in several),
        "list": json.dumps(several),
        "pretty list": json.dumps(several, indent=1),
        "list, an element a line": "[" + ",\n".join(map(json.dumps, several)) + "]",
    }[layout]
    (tmp_path / "all.json").write_text(text)
    assert read_last(fleet, tmp_path, one["node"]) and fleet.taken == [3]
