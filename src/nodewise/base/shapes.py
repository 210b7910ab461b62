# SPDX-License-Identifier: BSD-3-Clause
"""Shapes: plain values from outside, checked against Python's own types and made into them, or refused with the field named.

A shape is a type hint: `str`, `int`, `float`, `bool`, `None`, `Any`, literals, enums, paths, unions, lists, tuples, mappings
with texts for keys, dataclasses and typed dictionaries, all of these nested; `Annotated` with a `Within` bounds a number.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any

from nodewise.base.frozen import dataclass


class ShapeError(ValueError):
    """A value that is not of its shape: `field` is where it stands, such as `machine.cores[3].pus`, empty for the whole."""

    def __init__(self, field: str, problem: str):
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field
        self.problem = problem

    def __reduce__(self) -> tuple[type[ShapeError], tuple[str, str]]:
        return (type(self), (self.field, self.problem))


@dataclass(frozen=True)
class Within:
    """Bounds of a number, both included; `above` is excluded."""

    low: float = -math.inf
    high: float = math.inf
    above: float | None = None

    def holds(self, value: float) -> bool:
        """Whether a number lies inside."""
        return self.low <= value <= self.high and (self.above is None or value > self.above)

    def __str__(self) -> str:
        parts = [f"above {self.above:g}"] if self.above is not None else []
        parts += [f"at least {self.low:g}"] if self.low > -math.inf else []
        parts += [f"at most {self.high:g}"] if self.high < math.inf else []
        return " and ".join(parts)


#: Usual shapes of numbers.
Count = typing.Annotated[int, Within(0, (1 << 31) - 1)]
Amount = typing.Annotated[int, Within(0)]
Positive = typing.Annotated[float, Within(above=0)]
NotNegative = typing.Annotated[float, Within(0)]
Share = typing.Annotated[float, Within(0, 1)]
#: What an axis may choose.
Scalar = str | int | float | bool | None

_NAMES: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
    Path: "a path",
}


class _MisfitError(Exception):
    """What is wrong with a value; `path` leads to it from the inside: names and indices."""

    def __init__(self, problem: str):
        super().__init__(problem)
        self.problem = problem
        self.path: list[str | int] = []

    def at(self, step: str | int) -> _MisfitError:
        """The same, seen from the object or list around it."""
        self.path.append(step)
        return self

    def field(self, outer: str) -> str:
        """Where the value stands, within the field `outer`."""
        for step in reversed(self.path):
            outer = f"{outer}[{step}]" if isinstance(step, int) else _inside(outer, step)
        return outer


#: Makes a value of a shape, or raises _MisfitError.
_Reader = Callable[[Any], Any]


def fit(value: Any, shape: Any, field: str = "") -> Any:
    """The value in its shape: an instance of a dataclass, a tuple, an enum's member … Raises ShapeError.

    Names that a dataclass or a typed dictionary has not are left out of the one and left alone in the other.
    """
    try:
        # equal unions may have their members in another order, which messages follow
        return _reader(shape, "" if isinstance(shape, type) else repr(shape))(value)
    except _MisfitError as wrong:
        raise ShapeError(wrong.field(field), wrong.problem) from None


def shown(value: Any) -> str:
    """A value in a message: short, and without what is inside it."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:36]}…"


def _inside(field: str, name: str) -> str:
    name = name if len(name) <= 40 else f"{name[:36]}…"
    return f"{field}.{name}" if field else name


@lru_cache(maxsize=1024)
def _reader(shape: Any, spelled: str) -> _Reader:
    """What reads a shape: found once, as values come by the hundred thousand."""
    if shape is Any:
        return _anything
    if shape in _PLAIN:
        return _PLAIN[shape]
    origin, arguments = typing.get_origin(shape), typing.get_args(shape)
    inner = [_reader(a, "" if isinstance(a, type) else repr(a)) for a in _shapes_in(origin, arguments)]
    if origin is typing.Annotated:
        return _within(inner[0], arguments[1])
    if origin in (typing.Union, types.UnionType):
        return _either(arguments, inner)
    if origin in (typing.Required, typing.NotRequired):
        return inner[0]
    if origin is typing.Literal:
        return _one_of(arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(inner[1])
    if origin is tuple and arguments[1:] != (...,):
        return _tuple_of(inner)
    if isinstance(origin, type) and issubclass(origin, Collection):
        return _series(inner[0], tuple if origin is tuple else list)
    if isinstance(shape, type) and issubclass(shape, Enum):
        value_of = _one_of(tuple(one.value for one in shape))
        return lambda value: shape(value_of(value))
    return _record(shape)


def _shapes_in(origin: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    if origin is typing.Literal:
        return ()
    return arguments[:1] if origin is typing.Annotated else tuple(a for a in arguments if a is not ...)


def _anything(value: Any) -> Any:
    return value


def _needed(shape: Any, value: Any) -> _MisfitError:
    return _MisfitError(f"{_NAMES[shape]} is needed, not {shown(value)}")


def _text(value: Any) -> Any:
    if not isinstance(value, str):
        raise _needed(str, value)
    return value


def _whole_number(value: Any) -> Any:
    # true is a whole number to Python
    if not isinstance(value, int) or isinstance(value, bool):
        raise _needed(int, value)
    return value


def _number(value: Any) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _MisfitError(f"a finite number is needed, not {value}")
        return value
    # a whole number is a number
    if not isinstance(value, int) or isinstance(value, bool):
        raise _needed(float, value)
    return value


def _truth(value: Any) -> Any:
    if not isinstance(value, bool):
        raise _needed(bool, value)
    return value


def _nothing(value: Any) -> Any:
    if value is not None:
        raise _needed(type(None), value)
    return value


def _path(value: Any) -> Any:
    if isinstance(value, str):
        return Path(value)
    if not isinstance(value, Path):
        raise _needed(Path, value)
    return value


_PLAIN: dict[Any, _Reader] = {
    str: _text,
    int: _whole_number,
    float: _number,
    bool: _truth,
    type(None): _nothing,
    Path: _path,
}


_SCALARS = {str, int, float, bool}


def _within(read: _Reader, bounds: Any) -> _Reader:
    if not isinstance(bounds, Within):
        return read

    def inside(value: Any) -> Any:
        made = read(value)
        if not bounds.holds(made):
            raise _MisfitError(f"a number {bounds} is needed, not {shown(made)}")
        return made

    return inside


def _either(shapes: Sequence[Any], readers: Sequence[_Reader]) -> _Reader:
    wanted = [(s, r) for s, r in zip(shapes, readers, strict=True) if s is not type(None)]
    optional = len(wanted) < len(shapes)
    if len(wanted) == 1:
        ((_, only),) = wanted
        return lambda value: None if value is None and optional else only(value)
    words = " or ".join(_NAMES.get(s, "something else") for s, _ in wanted)
    # by its type, which is quicker than by trying: what these take they take as it is
    at_once = frozenset(s for s, _ in wanted if s in (str, int, bool)) if {s for s, _ in wanted} <= _SCALARS else ()

    def read(value: Any) -> Any:
        if type(value) in at_once or (value is None and optional):
            return value
        for _, one in wanted:
            try:
                return one(value)
            except (_MisfitError, ShapeError):
                continue
        raise _MisfitError(f"{words} is needed, not {shown(value)}")

    return read


def _one_of(choices: tuple[Any, ...]) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, str | int) or value not in choices:
            raise _MisfitError(f"one of {', '.join(map(str, choices))} is needed, not {shown(value)}")
        return value

    return read


def _mapping(read_item: _Reader) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _MisfitError(f"an object is needed, not {shown(value)}")
        made = {}
        for name, item in value.items():
            try:
                made[name] = read_item(item)
            except _MisfitError as wrong:
                raise wrong.at(name) from None
        return made

    return read


def _check_list(value: Any) -> None:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _MisfitError(f"a list is needed, not {shown(value)}")


def _series(read_item: _Reader, kind: Callable[[list[Any]], Any]) -> _Reader:
    def read(value: Any) -> Any:
        _check_list(value)
        made: list[Any] = []
        try:
            made.extend(read_item(item) for item in value)
        except _MisfitError as wrong:
            raise wrong.at(len(made)) from None
        return made if kind is list else kind(made)

    return read


def _tuple_of(readers: Sequence[_Reader]) -> _Reader:
    def read(value: Any) -> Any:
        _check_list(value)
        if len(value) != len(readers):
            raise _MisfitError(f"a list of {len(readers)} is needed, not of {len(value)}")
        made: list[Any] = []
        try:
            made.extend(read_item(item) for item, read_item in zip(value, readers, strict=True))
        except _MisfitError as wrong:
            raise wrong.at(len(made)) from None
        return tuple(made)

    return read


def _record(shape: Any) -> _Reader:
    """A dataclass or a typed dictionary."""
    is_class = isinstance(shape, type) and dataclasses.is_dataclass(shape)
    required, readers = frozenset[str](), dict[str, _Reader]()

    def read(value: Any) -> Any:
        nonlocal required, readers
        if not isinstance(value, Mapping):
            raise _MisfitError(f"an object is needed, not {shown(value)}")
        # when it is first needed, as a record may hold others of its own kind
        if not readers:
            required, readers = _fields(shape)
        made = {}
        if not required <= value.keys():
            raise _MisfitError("it is missing").at(next(n for n in readers if n in required and n not in value))
        for name, read_item in readers.items():
            if name in value:
                try:
                    made[name] = read_item(value[name])
                except _MisfitError as wrong:
                    raise wrong.at(name) from None
        return shape(**made) if is_class else {**value, **made}

    return read


def _fields(shape: Any) -> tuple[frozenset[str], dict[str, _Reader]]:
    """The names that have to be there, and what reads each."""
    hints = typing.get_type_hints(shape, include_extras=True)
    if dataclasses.is_dataclass(shape):
        fields = [f for f in dataclasses.fields(shape) if f.init]
        missing = dataclasses.MISSING
        required = {f.name for f in fields if f.default is missing and f.default_factory is missing}
        hints = {f.name: hints[f.name] for f in fields}
    else:
        required = {n for n in shape.__required_keys__ if typing.get_origin(hints[n]) is not typing.NotRequired}
    return frozenset(required), {n: _reader(h, "" if isinstance(h, type) else repr(h)) for n, h in hints.items()}
