# SPDX-License-Identifier: BSD-3-Clause
"""Stored experiments, and what a disk, an editor or another version may make of them."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nodewise.cli.main import main

WRONG = [None, True, -1, 10**400, 1e308, 1e-308, "x", "", [], {}, [[]], {"a": 1}, "\udcff", float("nan"), 1 << 40]
KINDS = {
    "run": ["-r", "3", "--", "sleep", "0.001"],
    "compare": ["--accept-disturbed", "-M", "8", "sleep 0.08", "sleep 0.001"],
    "tune": ["--accept-disturbed", "--max-runs", "24", "-P", "t=0.08,0.001", "--axes", "", "--", "sleep", "{t}"],
    "scale": [
        *("--accept-disturbed", "--blocks", "6", "--machine", "synthetic:core:16 pu:1", "--counts", "1,2,4,6,8"),
        *("--to", "9", "--by", "23:59", "--", "sleep", "0.00{threads}"),
    ],
}
FILES = ("question.json", "samples.jsonl", "verdict.json", "reference-output")


def nodewise_here(*words: str) -> tuple[int, str]:
    """The exit code of a nodewise in this process, and what was said on standard error; directory and environment are as before."""
    here, environment, typed = Path.cwd(), dict(os.environ), sys.argv
    said = io.StringIO()
    sys.argv = ["nodewise", *words]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            return main(list(words)), said.getvalue()
    finally:
        sys.argv = typed
        os.chdir(here)
        os.environ.clear()
        os.environ.update(environment)


def store(folder: Path) -> dict[str, Path]:
    """A small experiment of each kind below a folder."""
    for kind, words in KINDS.items():
        code, said = nodewise_here(kind, "--budget", "10min", "--out", str(folder / kind), *words)
        assert code == 0, said
    code, said = nodewise_here(
        "confirm", "--budget", "10min", "--max-runs", "8", "--out", str(folder / "confirm"), str(folder / "compare")
    )
    assert code in (0, 1), said
    return {kind: folder / kind for kind in (*KINDS, "confirm")}


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands within plain values: the names and numbers that lead there."""
    for name, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield (*at, name)
        yield from places(inner, (*at, name))


def changed(value: Any, place: tuple[Any, ...], new: Any, drop: bool = False) -> str:
    """The text of a value with something else, or nothing, at a place."""
    # what does not lead there stays as it is, and needs no copy
    value = inner = copy.copy(value)
    for name in place[:-1]:
        inner[name] = copy.copy(inner[name])
        inner = inner[name]
    if drop:
        del inner[place[-1]]
    else:
        inner[place[-1]] = new
    sys.set_int_max_str_digits(0)
    return json.dumps(value)


def fields(text: str) -> list[str]:
    """A record with each of its fields gone, and of each wrong type; of the parts of a list one stands for all."""
    value = json.loads(text)
    alike: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for place in places(value):
        alike.setdefault(tuple("" if isinstance(name, int) else name for name in place), place)
    return [
        text
        for place in alike.values()
        for text in (changed(value, place, None, drop=True), *(changed(value, place, wrong) for wrong in WRONG))
    ]


def damages(folder: Path) -> list[tuple[str, bytes]]:
    """Each file with one thing changed."""
    made = []
    question = (folder / "question.json").read_text()
    made += [("question.json", text.encode()) for text in fields(question)]
    made += [("question.json", question[:n].encode()) for n in (0, 1, len(question) // 2, len(question) - 2)]
    made += [("question.json", text) for text in (b"[" * 100_000, b'{"a":' * 300 + b"1" + b"}" * 300, b"\xff{}")]
    lines = (folder / "samples.jsonl").read_bytes().splitlines(keepends=True)
    kinds = set()
    for i, line in enumerate(lines):
        others: list[bytes] = [b"", line * 2, line[: len(line) // 2] + b"\n", b"[" * 100_000 + b"\n", b"null\n"]
        kind = json.loads(line)["type"]
        if kind not in kinds:
            kinds.add(kind)
            others += [text.encode() + b"\n" for text in fields(line.decode())]
        made += [("samples.jsonl", b"".join([*lines[:i], other, *lines[i + 1 :]])) for other in others]
    made += [("samples.jsonl", b"".join(lines)[:-5]), ("samples.jsonl", b"")]
    return made


def damage(dice: random.Random, folder: Path) -> str:
    """Change something of one file at random; what it was, in words."""
    whole = [n for n in FILES if (folder / n).is_file() and not (folder / n).is_symlink()]
    if not whole:
        return "nothing is left"
    name = dice.choice(whole)
    path = folder / name
    data = path.read_bytes()
    way = dice.choice(["field", "field", "field", "bytes", "cut", "line", "line", "other"])
    if way == "field" and name != "reference-output":
        return f"{name}: {_other_field(dice, path, data)}"
    if way == "line" and (lines := data.splitlines(keepends=True)):
        return f"{name}: {_other_line(dice, path, lines)}"
    if way == "cut":
        path.write_bytes(data[: dice.randrange(len(data) + 1)])
        return f"{name}: cut to {path.stat().st_size} bytes"
    if way == "other":
        return f"{name}: {_other_file(dice, path)}"
    bytes_ = bytearray(data or b"x")
    for _ in range(dice.choice([1, 1, 2, 5, 50])):
        bytes_[dice.randrange(len(bytes_))] = dice.choice(b'\x00\xff{}[]",:0123456789eE.-x\n')
    path.write_bytes(bytes_)
    return f"{name}: bytes changed"


def _other_field(dice: random.Random, path: Path, data: bytes) -> str:
    lines = data.split(b"\n") if path.suffix == ".jsonl" else [data]
    at = dice.randrange(len(lines))
    try:
        value = json.loads(lines[at])
        place = dice.choice(list(places(value)))
    except (ValueError, IndexError, RecursionError):
        # of a damage before this one
        return f"line {at + 1} has no fields any more"
    new = dice.choice([*WRONG, *(v for v in (0, 1, 0.5, -0.0, "0", "\ud800", [1], [0] * 2000))])
    drop = dice.random() < 0.2
    lines[at] = changed(value, place, new, drop).encode("utf-8", "surrogatepass")
    path.write_bytes(b"\n".join(lines))
    return f"line {at + 1}, {'.'.join(map(str, place))}: {'gone' if drop else repr(new)[:40]}"


def _other_line(dice: random.Random, path: Path, lines: list[bytes]) -> str:
    at, to = dice.randrange(len(lines)), dice.randrange(len(lines))
    way = dice.choice(["gone", "twice", "moved", "half", "deep", "text", "long"])
    line = lines[at]
    others = {
        "twice": line * 2,
        "half": line[: len(line) // 2] + b"\n",
        "deep": b"[" * 100_000 + b"\n",
        "text": b"once upon a time\n",
        "long": b'"' + b"x" * (17 << 20) + b'"\n',
        "gone": b"",
        "moved": b"",
    }
    lines[at] = others[way]
    if way == "moved":
        lines.insert(to, line)
    path.write_bytes(b"".join(lines))
    return f"line {at + 1} {way}"


def _other_file(dice: random.Random, path: Path) -> str:
    path.unlink()
    way = dice.choice(["gone", "empty", "zero", "fifo", "folder", "circle", "forbidden"])
    if way == "empty":
        path.touch()
    elif way == "zero":
        path.symlink_to("/dev/zero")
    elif way == "fifo":
        os.mkfifo(path)
    elif way == "folder":
        path.mkdir()
    elif way == "circle":
        path.symlink_to(path.name)
    elif way == "forbidden":
        path.touch(mode=0)
    return way
