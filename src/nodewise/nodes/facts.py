# SPDX-License-Identifier: BSD-3-Clause
"""Facts of snapshots by their paths: which there are, and how they are read out of a snapshot's plain values."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from nodewise.nodes.snapshot import Snapshot

#: A fact as it is compared: a scalar, or a tuple of pairs or of values.
Value = Any


class Missing:
    """What stands for a name of a star that a node has not: another thing than a fact that is null there, with a reason."""

    def __repr__(self) -> str:
        return "not there"


MISSING = Missing()
#: What a getter gives for a path with a star: the facts by the name that stands for it.
Several = dict[str, Value]


_SINGLE = frozenset([str, int, float, bool, type(None)])


def frozen(value: Any) -> Value:
    """A plain value that can be counted: objects as sorted pairs, lists as tuples, whole numbers as they are."""
    if type(value) in _SINGLE:
        return value
    if isinstance(value, dict):
        return tuple(sorted((k, frozen(v)) for k, v in value.items()))
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value


class Recent:
    """What came of the last few parts of snapshots that differed: most nodes' are alike, and those of equal text one object."""

    _MOST = 32

    def __init__(self) -> None:
        # the part is kept, too, so that its identity is nobody else's
        self._kept: dict[int, tuple[Any, Any]] = {}

    def find(self, part: Any) -> Any:
        """What was kept of this very part, not of one like it; None where there is nothing."""
        kept = self._kept.get(id(part))
        return None if kept is None else kept[1]

    def keep(self, part: Any, made: Any) -> None:
        """Keep what was made of a part, in place of the oldest one."""
        if len(self._kept) >= self._MOST:
            del self._kept[next(iter(self._kept))]
        self._kept[id(part)] = part, made


def getter(path: str) -> Callable[[Mapping[str, Any]], Value | Several]:
    """What reads the fact of that path out of a snapshot's JSON: its value, or with a star a dictionary of values; None where it is null."""
    before, star, after = path.partition("*")
    first = _reader(tuple(p for p in before.split(".") if p))
    if not star:
        return lambda data: v if type(v := first(data)) in _SINGLE else frozen(v)
    rest = _reader(tuple(p for p in after.split(".") if p))

    def several(data: Mapping[str, Any]) -> Several | None:
        found = first(data)
        if type(found) is not dict:
            return None
        return {k: v if type(v := rest(one)) in _SINGLE else frozen(v) for k, one in found.items()}

    return several


def _reader(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """What follows those names into objects within objects; None where there is nothing. The short ways are the usual ones."""
    if not names:
        return lambda value: value
    if len(names) == 1:
        [name] = names
        return lambda value: value.get(name) if type(value) is dict else None
    rest = _reader(names[1:])
    name = names[0]
    return lambda value: rest(value.get(name)) if type(value) is dict else None


@cache
def known_paths() -> tuple[str, ...]:
    """All paths that a rule may read; a star stands for names that differ from node to node."""
    return tuple(_paths(Snapshot, ""))


def _paths(kind: Any, at: str) -> typing.Iterator[str]:
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        path = f"{at}{field.name}"
        if path in ("absent", "node", "made_by"):
            continue
        hint = hints[field.name]
        if typing.get_origin(hint) in (typing.Union, types.UnionType):
            hint = next(a for a in typing.get_args(hint) if a is not type(None))
        inner = typing.get_args(hint)[1] if _is_mapping(hint) else None
        if dataclasses.is_dataclass(hint):
            yield from _paths(hint, f"{path}.")
            continue
        yield path
        if inner is not None:
            yield f"{path}.*"
        if dataclasses.is_dataclass(inner):
            yield from _paths(inner, f"{path}.*.")


def _is_mapping(hint: Any) -> bool:
    origin = typing.get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def is_known(path: str, known: frozenset[str]) -> bool:
    """Whether a path is one of those, or names one of what a star stands for (`own.dgemm`, `mounts./scratch.type`)."""
    if path in known:
        return True
    for one in known:
        before, star, after = one.partition("*")
        if star and path.startswith(before) and path.endswith(after) and len(path) > len(before) + len(after):
            name = path[len(before) : len(path) - len(after)]
            # another path may fit where this one does not: `mounts.*` and `mounts.*.free`
            if "*" not in name and (after or "." not in name):
                return True
    return False


@cache
def kinds_of(path: str) -> frozenset[type]:
    """What the values of a fact may be besides null: of float, int, str, bool, tuple (lists) and dict; empty of what is not known.

    What whoever took a snapshot added (`own.*`) may be a number, a text or a flag.
    """
    hint: Any = Snapshot
    for name in _steps(path):
        if _is_mapping(hint):
            hint = typing.get_args(hint)[1]
        elif dataclasses.is_dataclass(hint):
            hint = typing.get_type_hints(hint).get(name)
        else:
            return frozenset()
        if typing.get_origin(hint) in (typing.Union, types.UnionType):
            inner = [a for a in typing.get_args(hint) if a is not type(None)]
            hint = inner[0] if len(inner) == 1 else inner
    if isinstance(hint, list):
        return frozenset(hint)
    if _is_mapping(hint) or dataclasses.is_dataclass(hint):
        return frozenset([dict])
    return frozenset([typing.get_origin(hint) or hint]) if hint is not None else frozenset()


def _steps(path: str) -> list[str]:
    """The names on the way to a fact; a name that a star stands for may hold points itself."""
    for one in sorted(known_paths(), key=len, reverse=True):
        before, star, after = one.partition("*")
        if one == path or (
            star and path.startswith(before) and path.endswith(after) and len(path) > len(before) + len(after)
        ):
            return [step for step in one.split(".") if step]
    return path.split(".")
