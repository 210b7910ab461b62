# SPDX-License-Identifier: BSD-3-Clause
"""What other viewers read: held to speedscope's published schema and to the grammar of collapsed stacks, also with hostile names."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest

from nodewise.profile.samples import Frame, Taken
from nodewise.profile.stacks import collapsed, speedscope, summed

HOSTILE = [
    "f",
    "a;b",
    "new\nline",
    "operator()(int) const [clone .part.0]",
    "ends in 12",
    "tab\there",
    "ünïcode",
    "",
    " ",
    "\r",
    "\x1b[31m",
    "\x9f1m",
    "line\u2028and\u2029paragraph",
    "\x85",
]


def taken(chain: list[str], time: float = 0.0, tid: int = 1) -> Taken:
    return Taken(1, tid, time, tuple(Frame(name, "/lib/x.so", i) for i, name in enumerate(chain)))


def check_collapsed(text: str) -> dict[tuple[str, ...], int]:
    """The stacks of a file in the grammar that flamegraph.pl and inferno share: `name(;name)* count`, a line each, sorted. Raises ValueError."""
    found: dict[tuple[str, ...], int] = {}
    if text and not text.endswith("\n"):
        raise ValueError("the last line has no end")
    lines = text.split("\n")[:-1]
    stacks = [line.rpartition(" ")[0] for line in lines]
    if stacks != sorted(set(stacks)):
        raise ValueError("the stacks are not sorted, or one is there twice")
    for line in lines:
        match = re.fullmatch(r"(?P<stack>[^\x00-\x1f\x7f]*) (?P<count>[1-9]\d*)", line)
        if match is None:
            raise ValueError(f"no stack and count: {line!r}")
        stack = tuple(match["stack"].split(";"))
        if not all(name.strip() for name in stack):
            raise ValueError(f"a function without a name: {line!r}")
        found[stack] = found.get(stack, 0) + int(match["count"])
    return found


def check_speedscope(data: Any) -> None:
    """Hold a file to the rules of https://www.speedscope.app/file-format-schema.json for sampled profiles. Raises ValueError."""

    def need(condition: bool, what: str) -> None:
        if not condition:
            raise ValueError(what)

    need(isinstance(data, dict) and data["$schema"] == "https://www.speedscope.app/file-format-schema.json", "$schema")
    need(data.keys() <= {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}, "unknown fields")
    frames = data["shared"]["frames"]
    need(data["shared"].keys() == {"frames"} and isinstance(frames, list), "shared")
    for frame in frames:
        need(isinstance(frame["name"], str) and frame.keys() <= {"name", "file", "line", "col"}, "frame")
        need(
            isinstance(frame.get("file", ""), str) and all(isinstance(frame.get(k, 0), int) for k in ("line", "col")),
            "frame",
        )
    need(isinstance(data["profiles"], list), "profiles")
    for profile in data["profiles"]:
        need(profile.keys() == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}, "profile")
        need(profile["type"] == "sampled" and isinstance(profile["name"], str), "type")
        need(profile["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"), "unit")
        numbers = [profile["startValue"], profile["endValue"], *profile["weights"]]
        need(all(isinstance(n, int | float) and math.isfinite(n) and n >= 0 for n in numbers), "numbers")
        need(len(profile["samples"]) == len(profile["weights"]), "a weight for each sample")
        need(all(isinstance(i, int) and 0 <= i < len(frames) for stack in profile["samples"] for i in stack), "indices")
        need(
            math.isclose(profile["endValue"] - profile["startValue"], sum(profile["weights"]), abs_tol=1e-6),
            "its length",
        )


def test_speedscope_gets_what_its_schema_asks_for() -> None:
    samples = [taken([name, "caller", "main"], i / 99) for i, name in enumerate(HOSTILE)]
    data = json.loads(speedscope({"app (1)": samples, "none (2)": []}, 99, 'it\'s "app"\n'))
    check_speedscope(data)
    first = data["profiles"][0]
    names = [data["shared"]["frames"][i]["name"] for i in first["samples"][0]]
    # outermost first
    assert names == ["main", "caller", "f"]
    listed = [frame["name"] for frame in data["shared"]["frames"]]
    # what cannot be seen gets a name, and what has one is one function
    assert len(listed) == len(set(listed)) and all(name.isprintable() and name.strip() for name in listed)
    assert {"a;b", "new line", "[unknown]"} <= set(listed)
    assert sum(first["weights"]) == pytest.approx(len(HOSTILE) / 99)
    for broken in (
        {**data, "more": 1},
        {**data, "profiles": [{**first, "weights": first["weights"][1:]}]},
        {**data, "shared": {"frames": []}},
    ):
        with pytest.raises(ValueError):
            check_speedscope(broken)


def test_collapsed_stacks_are_in_their_grammar_whatever_names_hold() -> None:
    text = collapsed(summed([taken([name, "caller"]) for name in HOSTILE for _ in range(3)]))
    stacks = check_collapsed(text)
    assert sum(stacks.values()) == 3 * len(HOSTILE)
    assert stacks["caller", "f"] == 3 and stacks["caller", "a:b"] == 3
    assert stacks["caller", "operator()(int) const [clone .part.0]"] == 3
    # inferno takes a line that ends in two numbers for a difference
    assert stacks["caller", "ends in_12"] == 3
    for broken in ("a;b\n", "a;b 0\n", "a;;b 1\n", "a 1", "b 1\na 1\n", "a\x1b 1\n"):
        with pytest.raises(ValueError):
            check_collapsed(broken)
