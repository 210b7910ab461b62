# SPDX-License-Identifier: BSD-3-Clause
"""How snapshots of many nodes are read: one a line, over several lines, in lists, through pipes, and beside what cannot be read."""

import io
import json
import os
from pathlib import Path

import pytest

from benchmarks._check.fleets import Node, regular
from nodewise.nodes.fleet import Fleet
from nodewise.nodes.streams import parsed


@pytest.fixture(scope="module")
def nodes() -> list[Node]:
    return list(regular(3, 1))


def _read(*sources: Path | bytes) -> Fleet:
    fleet = Fleet(("memory.total",))
    fleet.read([io.BytesIO(s) if isinstance(s, bytes) else s for s in sources])
    return fleet


def test_pretty_printed_ones_may_follow_each_other(nodes: list[Node]) -> None:
    text = "\n".join(json.dumps(n, indent=2) for n in nodes)
    assert _read(text.encode()).names == [n["node"] for n in nodes]
    mixed = f"{json.dumps(nodes[0])}\n{json.dumps(nodes[1], indent=1)}\n\n{json.dumps(nodes[2])}\n"
    fleet = _read(mixed.encode())
    assert fleet.names == [n["node"] for n in nodes] and not fleet.unreadable


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_is_read_as_its_snapshots(nodes: list[Node], indent: int | None) -> None:
    fleet = _read(json.dumps([*nodes, 7], indent=indent).encode())
    assert fleet.names == [n["node"] for n in nodes]
    [(origin, problem)] = [(u.origin, u.problem) for u in fleet.unreadable]
    assert origin.startswith("standard input") and origin.endswith("number 4 of its list") and "no snapshot" in problem


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"[" * 100_000, "nested deeper"),
        (b'{"nodewise_snapshot": 7}', "version 7, this nodewise reads version 1"),
        (b'{"nodewise_snapshot": 1, "node": "n1"', "no JSON"),
        (b'{"nodewise_snapshot": 1, "node": "n1"}', "it is missing"),
        (b"[1]", "it is no snapshot"),
        (b"\xff", "no UTF-8"),
        (b"x" * (2 << 20), "more than 1048576 bytes"),
    ],
)
def test_what_is_no_snapshot_is_named_and_the_others_are_judged(nodes: list[Node], line: bytes, problem: str) -> None:
    fleet = _read(line + b"\n" + json.dumps(nodes[0]).encode() + b"\n")
    assert fleet.names == ["n00001"] and problem in fleet.unreadable[0].problem
    # a list that does not end is said to be cut off, besides
    assert len(fleet.unreadable) == (2 if line.startswith(b"[[") else 1)


def test_what_is_never_closed_hides_nothing_behind_it(nodes: list[Node]) -> None:
    lines = "\n".join(json.dumps(n) for n in nodes)
    fleet = _read(f'{{\n "nodewise_snapshot": 1,\n{lines}\n'.encode())
    assert fleet.names == [n["node"] for n in nodes] and fleet.unreadable_count == 1


def test_a_pipe_that_is_named_is_read_to_its_end(nodes: list[Node], tmp_path: Path) -> None:
    # as a shell's `<(…)`
    end, other = os.pipe()
    os.write(other, "".join(json.dumps(n) + "\n" for n in nodes).encode())
    os.close(other)
    assert _read(Path(f"/proc/self/fd/{end}")).names == [n["node"] for n in nodes]
    os.close(end)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # one that nobody writes to is empty, and in a folder none is looked at
    assert _read(pipe).names == []
    (tmp_path / "pipe.json").symlink_to(pipe)
    assert [u.problem for u in _read(tmp_path).unreadable] == ["it is no regular file"]


def test_a_file_that_fails_while_it_is_read_leaves_the_others(nodes: list[Node], tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to("/proc/self/mem")
    (tmp_path / "b.json").write_text(json.dumps(nodes[0]))
    fleet = _read(tmp_path)
    assert fleet.names == [nodes[0]["node"]]
    assert fleet.unreadable[0].problem == "it cannot be read: Input/output error"


@pytest.mark.parametrize("first", [True, 1])
def test_true_is_not_one_whatever_comes_first(nodes: list[Node], first: object) -> None:
    fleet = Fleet(("own.*",))
    values = [first, 1, True, 1]
    lines = [json.dumps({**nodes[0], "node": f"n{i}", "own": {"x": v}}) for i, v in enumerate(values)]
    fleet.read([io.BytesIO("\n".join(lines).encode())])
    assert [type(one["x"]) for one in fleet.columns["own.*"]] == [type(v) for v in values]


def test_of_one_node_the_newest_snapshot_counts(nodes: list[Node]) -> None:
    old = {**nodes[0], "taken": nodes[0]["taken"] - 50}
    for several, newest in (([old, nodes[0]], 1), ([nodes[0], old], 0)):
        fleet = _read("".join(json.dumps(n) + "\n" for n in several).encode())
        assert fleet.last_places() == [newest]


def test_numbers_beyond_all_bounds_are_said_to_be(nodes: list[Node]) -> None:
    for number, said in (("1e300", "beyond ±1e+100"), ("1e999", "beyond ±1e+100"), (str(2**64), "more than 64 bits")):
        text = json.dumps({**nodes[0], "own": {"dgemm": 12345}}, separators=(",", ":")).replace("12345", number)
        problem = parsed(text.encode())
        assert isinstance(problem, str) and said in problem
