# SPDX-License-Identifier: BSD-3-Clause
"""Snapshots of many nodes, read one after another; of each only the facts that rules ask for are kept."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from nodewise.base.alike_json import AlikeObjects
from nodewise.base.bounded_json import open_regular, parse_json
from nodewise.base.errors import InputError
from nodewise.nodes.asking.silence import silence_of
from nodewise.nodes.checked import problem_of
from nodewise.nodes.facts import Recent, Value, getter

#: The longest snapshot: one of 256 processors has at most 32 KB.
LONGEST = 1 << 20
#: A list of snapshots is read whole.
_LONGEST_LIST = 64 << 20
_TOO_LONG = f"it has more than {LONGEST} bytes"
#: Of what is no snapshot so much is kept to be shown; the rest is counted, as there may be millions of lines.
_MOST_UNREADABLE = 100
_SNAPSHOTS = AlikeObjects()


@dataclass(frozen=True)
class Unreadable:
    """What was given for a snapshot and is none: where it stands, and why."""

    origin: str
    problem: str


@dataclass
class Fleet:
    """The facts at `paths` of many nodes: `columns` holds for each path a value for each of `names`, in their order."""

    paths: Sequence[str]
    names: list[str] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)
    columns: dict[str, list[Value]] = field(default_factory=dict)
    #: The first of what was no snapshot, and how much there was of it.
    unreadable: list[Unreadable] = field(default_factory=list)
    unreadable_count: int = 0
    #: Nodes that were asked and gave no answer, with the reasons.
    silent: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.columns = {path: [] for path in self.paths}
        parts: dict[str, list[str]] = {}
        for path in self.paths:
            parts.setdefault(path.partition(".")[0], []).append(path)
        self._parts = [
            (name, [getter(p) for p in those], [self.columns[p].append for p in those], Recent())
            for name, those in parts.items()
        ]
        self._seen: dict[Any, Any] = {}
        self._seen_several: dict[Any, Any] = {}

    def add(self, data: dict[str, Any], origin: str) -> None:
        """Take over a snapshot's facts."""
        self.names.append(data["node"])
        self.origins.append(origin)
        self.taken.append(data["taken"])
        for name, getters, keepers, recent in self._parts:
            part = data.get(name)
            values = recent.find(part)
            if values is None:
                values = [self._shared(get(data)) for get in getters]
                recent.keep(part, values)
            for keep, value in zip(keepers, values, strict=True):
                keep(value)

    def last_places(self) -> list[int]:
        """Where each node stands: of one that is there twice its newest snapshot counts."""
        order = sorted(range(len(self.names)), key=lambda i: self.taken[i])
        return sorted({self.names[i]: i for i in order}.values())

    def _shared(self, value: Value) -> Value:
        # nodes are much alike: equal values are kept once, but for measured ones, which are never equal
        kind = type(value)
        if kind is str or kind is tuple:
            return self._seen.setdefault(value, value)
        # true equals one, and is another answer
        if kind is dict and not {float, bool} & set(map(type, value.values())):
            return self._seen_several.setdefault(tuple(value.items()), value)
        return value

    def read(self, sources: Iterable[Path | BinaryIO]) -> None:
        """Take over all snapshots in files, folders of files and streams. Raises InputError for a path that cannot be read."""
        with without_collector():
            for origin, data in read_all(sources):
                if isinstance(data, str):
                    self.unreadable_count += 1
                    if len(self.unreadable) < _MOST_UNREADABLE:
                        self.unreadable.append(Unreadable(origin, data))
                elif silence := silence_of(data):
                    self.silent.update([silence])
                else:
                    self.add(data, origin)


@contextmanager
def without_collector() -> Iterator[None]:
    """Snapshots and findings hold no circles: looking for some among ten thousand nodes costs a fifth of the time and finds none."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def read_all(sources: Iterable[Path | BinaryIO]) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """Snapshots with where they stand; for what is none, a text that says why. What `silence` wrote comes as it is."""
    for source in sources:
        if not isinstance(source, Path):
            yield from _lines(source, "standard input")
        elif source.is_dir():
            try:
                with os.scandir(source) as entries:
                    # a folder of results has other files, too
                    names = sorted(
                        e.name for e in entries if e.name.endswith((".json", ".jsonl")) and not e.name.startswith(".")
                    )
            except OSError as problem:
                raise InputError(f"cannot read {source}: {problem.strerror}") from problem
            for name in names:
                yield from _file(source / name, alone=False)
        else:
            yield from _file(source, alone=True)


def _opened(path: Path, alone: bool) -> BinaryIO:
    """The file; what is named by itself may be a pipe, as a shell's `<(…)` and /dev/stdin are."""
    if not alone or not path.is_fifo():
        return open_regular(path)
    # without a writer it is empty, and nobody waits for one
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(pipe, True)
    return os.fdopen(pipe, "rb")


def _file(path: Path, alone: bool) -> Iterator[tuple[str, dict[str, Any] | str]]:
    try:
        file = _opened(path, alone)
    except OSError as problem:
        if alone:
            raise InputError(f"cannot read {path}: {problem.strerror}") from problem
        yield str(path), f"it cannot be read: {problem.strerror}"
        return
    except ValueError as problem:
        yield str(path), str(problem)
        return
    with file:
        try:
            yield from _lines(file, str(path))
        except OSError as problem:
            # a server that is gone, or a disk with faults: the others are judged
            yield str(path), f"it cannot be read: {problem.strerror}"


def _lines(stream: BinaryIO, origin: str) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """One snapshot a line; or over several lines, from `{` to `}` at their beginnings; or a list of them."""
    number, again = 0, b""
    while line := again or stream.readline(LONGEST + 1):
        again = b""
        number += 1
        at = origin if number == 1 else f"{origin}, line {number}"
        if number == 1 and (line[:2] == b"[{" or line.strip() == b"["):
            more = stream.readline if line[:2] == b"[{" else stream.read
            yield from _list(line + more(_LONGEST_LIST + 1 - len(line)), origin)
        elif len(line) > LONGEST:
            yield at, _TOO_LONG
            while line and not line.endswith(b"\n"):
                line = stream.readline(LONGEST)
        elif line.strip() == b"{":
            block, size = [line], len(line)
            while (line := stream.readline(LONGEST + 1)) and line[:1] not in (b"{", b"}") and size <= LONGEST:
                block.append(line)
                size += len(line)
            if line[:1] == b"}":
                block.append(line)
            else:
                # it was never closed, and what stands there is another one
                again = line
            yield at, parsed(b"".join(block)) if size <= LONGEST else _TOO_LONG
            number += len(block) - 1
        elif line.strip():
            yield at, parsed(line)


def _list(text: bytes, origin: str) -> Iterator[tuple[str, dict[str, Any] | str]]:
    if len(text) > _LONGEST_LIST:
        yield origin, f"a list has more than {_LONGEST_LIST} bytes: write one snapshot a line"
        return
    try:
        several = parse_json(text)
    except ValueError as problem:
        yield origin, str(problem)
        return
    for number, one in enumerate(several, 1):
        yield f"{origin}, number {number} of its list", problem_of(one) or one


def parsed(text: bytes) -> dict[str, Any] | str:
    """The snapshot that a text is, or what `silence` wrote; for what is none, a text that says why. Nobody changes it: others share its parts."""
    try:
        data: dict[str, Any] = _SNAPSHOTS.parse(text)
        # numbers beyond the bounds are said where they are looked for
        if silence_of(data) or problem_of(data) is None:
            return data
        return problem_of(again := parse_json(text)) or dict(again)
    except ValueError as problem:
        return str(problem)
