# SPDX-License-Identifier: BSD-3-Clause
"""Snapshots cut out of texts: whatever their layout all are found, and what is broken costs no other."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks._check.fleets import Node, regular
from nodewise.nodes import streams
from nodewise.nodes.streams import read_all, snapshots_in
from tests.examples import examples

NODES: list[Node] = list(regular(4, 1))
NAMES = [n["node"] for n in NODES]


def _found(text: bytes) -> tuple[list[str], list[tuple[str, str]]]:
    """The nodes that are found, and what is none."""
    found = list(snapshots_in(io.BytesIO(text), "f"))
    names = [d["node"] for _, d in found if isinstance(d, dict)]
    return names, [(origin, d) for origin, d in found if isinstance(d, str)]


def _flat(node: Node) -> str:
    return json.dumps(node, indent=0)


def _compact(node: Node) -> str:
    return json.dumps(node, separators=(",", ":"))


LAYOUTS: dict[str, Callable[[list[Node]], str]] = {
    "lines": lambda n: "\n".join(map(_compact, n)),
    "carriage returns": lambda n: "\r\n".join(map(_compact, n)),
    "lines, indented": lambda n: "\n".join(f"  {_compact(x)}" for x in n),
    "with blanks": lambda n: "\n\n".join(map(json.dumps, n)) + "\n\n",
    "pretty": lambda n: "\n".join(json.dumps(x, indent=2) for x in n),
    "pretty by tabs": lambda n: "\n".join(json.dumps(x, indent="\t") for x in n),
    "pretty, blank lines before": lambda n: "\n\n" + "\n".join(json.dumps(x, indent=2) for x in n),
    "joined pretty ones": lambda n: "".join(json.dumps(x, indent=2) for x in n),
    "joined lines": lambda n: "".join(map(_compact, n)),
    "indent 0": lambda n: "\n".join(map(_flat, n)),
    "indent 0, joined": lambda n: "".join(map(_flat, n)),
    "list": json.dumps,
    "list, pretty": lambda n: json.dumps(n, indent=2),
    "list, indent 0": lambda n: json.dumps(n, indent=0),
    "list, an element a line": lambda n: "[" + ",\n".join(map(_compact, n)) + "]",
    "list, an element a line, brackets apart": lambda n: "[\n" + ",\n".join(map(_compact, n)) + "\n]\n",
    "list, commas in front": lambda n: "[\n  " + "\n, ".join(map(_compact, n)) + "\n]\n",
    "list after blanks": lambda n: " \n\n [" + ", ".join(map(json.dumps, n)) + "]",
    "list of pretty ones right after [": lambda n: "[" + ",".join(json.dumps(x, indent=2) for x in n) + "]",
    "two lists": lambda n: json.dumps(n[:2]) + json.dumps(n[2:]),
    "two lists, a line each": lambda n: json.dumps(n[:2]) + "\n" + json.dumps(n[2:]) + "\n",
    "a list, then lines": lambda n: json.dumps(n[:2]) + "\n" + "\n".join(map(_compact, n[2:])),
    "lines, then a list": lambda n: "\n".join(map(_compact, n[:2])) + "\n" + json.dumps(n[2:], indent=1),
    "a byte order mark": lambda n: "\ufeff" + "\n".join(map(_compact, n)),
    "split after the first member": lambda n: "\n".join(_compact(x).replace(",", ",\n", 1) for x in n),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("longest", [1 << 20, max(len(json.dumps(n, indent=2)) for n in NODES) + 1500])
def test_all_are_found_in_any_layout(layout: str, longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # by pieces that end anywhere in a long line, too
    monkeypatch.setattr(streams, "LONGEST", longest)
    names, others = _found(LAYOUTS[layout](NODES).encode())
    assert (names, others) == (NAMES, [])


@pytest.mark.some(4)
@pytest.mark.parametrize("layout", [n for n in LAYOUTS if not any(w in n for w in ("joined", "indent 0", "list"))])
def test_one_that_is_cut_off_costs_no_other(layout: str) -> None:
    whole = LAYOUTS[layout]
    text = whole(NODES[:1]).rstrip()
    for end in range(text.index("{") + 1, len(text), 97):
        names, others = _found((text[:end] + "\n" + whole(NODES[1:]).lstrip("\ufeff")).encode())
        assert names == NAMES[1:] and len(others) >= 1, text[:end][-40:]


def test_an_element_that_is_none_is_named_and_costs_no_other() -> None:
    broken = json.dumps({**NODES[1], "own": {"x": 5}}).replace(": 5", ": 1e999")
    deep = json.dumps({**NODES[2], "more": 7}).replace(": 7", ": " + "[" * 5000 + "]" * 5000)
    for text in (f"[{_compact(NODES[0])},{broken},{deep},7,[1],{_compact(NODES[3])}]",):
        names, others = _found(text.encode())
        assert names == [NAMES[0], NAMES[3]]
        assert [origin for origin, _ in others] == [f"f, number {n} of its list" for n in (2, 3, 4, 5)]
        assert "beyond" in others[0][1] and "nested" in others[1][1]


def test_a_list_without_its_end_is_said_to_be_cut_off() -> None:
    names, others = _found(f"[{_compact(NODES[0])},{_compact(NODES[1])}".encode())
    assert names == NAMES[:2] and "cut off" in others[0][1]


@pytest.mark.parametrize(
    ("text", "said"),
    [(b"", "it is empty"), (b"\n \n", "no snapshot"), (b"[]", "no snapshot"), (b"\xef\xbb\xbf", "no snapshot")],
)
def test_a_file_without_any_is_said_to_be(text: bytes, said: str) -> None:
    names, [(origin, problem)] = _found(text)
    assert not names and origin == "f" and said in problem


def test_lines_that_are_no_json_are_one_problem_each() -> None:
    noise = b'srun: error: {n7}: "task 0" [killed]\n'
    names, others = _found(noise + _compact(NODES[0]).encode() + b"\n" + noise)
    assert names == NAMES[:1] and [o for o, _ in others] == ["f", "f, line 3"]


def test_one_that_is_too_long_is_named_and_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LONGEST", 20_000)
    long = {**NODES[0], "more": ["x" * 50] * 1000}
    text = {**NODES[0], "more": "y" * 70_000}
    for one in (long, text):
        for indent in (None, 2, 0):
            names, others = _found(f"{json.dumps(one, indent=indent)}\n{_compact(NODES[1])}\n".encode())
            assert names == [NAMES[1]] and any("more than" in problem for _, problem in others), (indent, others)
    names, others = _found(json.dumps([NODES[0], long, NODES[1]]).encode())
    assert names == NAMES[:2] and [o for o, _ in others] == ["f, number 2 of its list"]


def test_a_line_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(streams, "_MOST_SKIPPED", 4 << 20)
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(1 << 40)
    (tmp_path / "b.json").write_text(_compact(NODES[0]))
    found = [d for _, d in read_all([tmp_path])]
    assert [d["node"] for d in found if isinstance(d, dict)] == NAMES[:1]
    assert any("no more of it is read" in d for d in found if isinstance(d, str))


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(_compact(NODES[0]))
    (tmp_path / "b").mkdir()
    other = tmp_path / "b" / ".." / "a.json"
    assert [o for o, _ in read_all([path, tmp_path, other])] == [str(path)]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text('{}[]",\\\n:ab', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('{}[]"\\ab', max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=examples(300), deadline=None)
@given(
    more=st.lists(
        st.dictionaries(st.sampled_from(["own_x", "z", "{", '"']), _VALUES, max_size=3), min_size=1, max_size=4
    ),
    layout=st.sampled_from(sorted(LAYOUTS)),
)
def test_whatever_stands_in_values_all_are_found(more: list[dict[str, Any]], layout: str) -> None:
    nodes = [{**NODES[0], **extra, "node": f"n{i}"} for i, extra in enumerate(more)]
    names, others = _found(LAYOUTS[layout](nodes).encode())
    assert names == [n["node"] for n in nodes]
    assert all("no snapshot" in problem for _, problem in others) and not others


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(
        st.sampled_from([b"{", b"}", b"[", b"]", b'"', b",", b"\n", b" ", b"\\", b'{"a":1}', b"7", b"\xff"]),
        max_size=40,
    )
)
def test_any_text_is_read_to_its_end(parts: list[bytes]) -> None:
    text = b"".join(parts)
    names, others = _found(text + b"\n" + _compact(NODES[0]).encode() + b"\n")
    # what stands in an open text of the same line is lost, and a list or value that is open takes it as its own; it is read, and said
    assert names == [NAMES[0]] or others
