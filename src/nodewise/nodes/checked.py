# SPDX-License-Identifier: BSD-3-Clause
"""Whether plain values are a snapshot: the shapes of its types made into functions once, as ten thousand are to be asked."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from nodewise.base.shapes import ShapeError, fit
from nodewise.nodes.facts import Recent
from nodewise.nodes.possible import Path, bounds, impossible
from nodewise.nodes.snapshot import Snapshot, version_problem

_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
_LONGEST = 1000
_MOST_NAMES = 2000
#: Whole numbers have 64 bits, as in all JSON from outside.
_WHOLE = 1 << 63
Check = Callable[[Any], bool]


def problem_of(data: Any) -> str | None:
    """What keeps a plain value from being a snapshot, in words, with the field; None where it is one."""
    problem = version_problem(data)
    if problem:
        return problem
    if not _is_snapshot(data):
        try:
            # slower, and it says where
            fit(data, Snapshot)
        except ShapeError as wrong:
            return str(wrong)
        for path, number, needed in impossible(data, ()):
            return f"{'.'.join(map(str, path))}: {needed}, not {number:.6g}"
        return "it holds a text or a list that is too long"
    if not _NAME.fullmatch(data["node"]):
        return f"node: not the name of a node: {data['node'][:40]!r}"
    return None if data["taken"] >= 0 else "taken: a number at least 0 is needed"


def _compiled(shape: Any, path: Path = ()) -> Check:
    origin, arguments = typing.get_origin(shape), typing.get_args(shape)
    if shape is str:
        return lambda v: isinstance(v, str) and len(v) <= _LONGEST
    if shape is float or shape is int:
        low, high = bounds(path)
        kinds = (int,) if shape is int else (int, float)
        return lambda v: type(v) in kinds and low <= v <= high and (type(v) is float or -_WHOLE <= v < _WHOLE)
    if shape is bool or shape is type(None):
        return lambda v: type(v) is shape
    if origin in (typing.Union, types.UnionType):
        several = [_compiled(a, path) for a in arguments if a is not type(None)]
        one = several[0] if len(several) == 1 else lambda v: any(check(v) for check in several)
        return (lambda v: v is None or one(v)) if type(None) in arguments else one
    if isinstance(origin, type) and issubclass(origin, Mapping):
        inner = _compiled(arguments[1], (*path, "*"))
        return lambda v: isinstance(v, dict) and len(v) <= _MOST_NAMES and all(map(inner, v.values()))
    if origin is tuple and arguments[1:] == (...,):
        inner = _compiled(arguments[0], (*path, "*"))
        return lambda v: isinstance(v, list) and len(v) <= _MOST_NAMES and all(map(inner, v))
    if origin is tuple:
        each = [_compiled(a, (*path, i)) for i, a in enumerate(arguments)]
        return lambda v: isinstance(v, list) and len(v) == len(each) and all(c(x) for c, x in zip(each, v, strict=True))
    fields = _fields(shape, path)

    def record(v: Any) -> bool:
        if not isinstance(v, dict):
            return False
        for name, check, needed in fields:
            if name in v:
                if not check(v[name]):
                    return False
            elif needed:
                return False
        return True

    return record


def _fields(shape: Any, path: Path) -> list[tuple[str, Check, bool]]:
    """Of each field of a record its name, what checks it, and whether it has to be there."""
    hints = typing.get_type_hints(shape)
    return [
        (f.name, _compiled(hints[f.name], (*path, f.name)), f.default is f.default_factory is dataclasses.MISSING)
        for f in dataclasses.fields(shape)
    ]


_PARTS = [(*field, Recent()) for field in _fields(Snapshot, ())]


def _is_snapshot(data: Any) -> bool:
    if not isinstance(data, dict):
        return False
    for name, check, needed, recent in _PARTS:
        part = data.get(name, _PARTS)
        if part is _PARTS:
            if needed:
                return False
        elif not recent.find(part):
            if not check(part):
                return False
            if type(part) is dict:
                recent.keep(part, True)
    return True
