# SPDX-License-Identifier: BSD-3-Clause
"""The facts of many nodes: of each snapshot only what rules ask for is kept."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, BinaryIO

from nodewise.base.frozen import dataclass
from nodewise.nodes.asking.silence import silence_of
from nodewise.nodes.facts import Recent, Value, getter
from nodewise.nodes.streams import read_all

#: Of what is no snapshot so much is kept to be shown; the rest is counted, as there may be millions of lines.
_MOST_UNREADABLE = 100


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
    #: By test of speed the nodes that were to be measured by it and were not, with the reasons.
    unmeasured: dict[str, dict[str, str]] = field(default_factory=dict)

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
        for fact, reason in data["absent"].items():
            if fact.startswith("speed."):
                self.unmeasured.setdefault(fact.removeprefix("speed."), {})[data["node"]] = str(reason)
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
        order = sorted(range(len(self.names)), key=lambda i: (self.taken[i], self.origins[i]))
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
