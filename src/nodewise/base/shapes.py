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
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any


class ShapeError(ValueError):
    """A value that is not of its shape: `field` is where it stands, such as `machine.cores[3].pus`, empty for the whole."""

    def __init__(self, field: str, problem: str):
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field
        self.problem = problem

    def __reduce__(self) -> tuple[type[ShapeError], tuple[str, str]]:
        return (type(self), (self.field, self.problem))


@dataclasses.dataclass(frozen=True)
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


def fit(value: Any, shape: Any, field: str = "") -> Any:
    """The value in its shape: an instance of a dataclass, a tuple, an enum's member … Raises ShapeError.

    Names that a dataclass or a typed dictionary has not are left out of the one and left alone in the other.
    """
    if shape is Any:
        return value
    if shape in _NAMES:
        return _plain(value, shape, field)
    origin, arguments = typing.get_origin(shape), typing.get_args(shape)
    if origin is typing.Annotated:
        return _within(fit(value, arguments[0], field), arguments[1], field)
    if origin in (typing.Union, types.UnionType):
        return _either(value, arguments, field)
    if origin in (typing.Required, typing.NotRequired):
        return fit(value, arguments[0], field)
    if origin is typing.Literal:
        return _one_of(value, arguments, field)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise ShapeError(field, f"an object is needed, not {shown(value)}")
        return {k: fit(v, arguments[1], _inside(field, k)) for k, v in value.items()}
    if isinstance(origin, type) and issubclass(origin, Collection):
        return _series(value, origin, arguments, field)
    if isinstance(shape, type) and issubclass(shape, Enum):
        return shape(_one_of(value, tuple(one.value for one in shape), field))
    return _record(value, shape, field)


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


def _plain(value: Any, shape: Any, field: str) -> Any:
    if shape is Path and isinstance(value, str):
        return Path(value)
    # true is a whole number to Python, and a whole number is a number
    if shape is float and isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, shape) or (shape is int and isinstance(value, bool)):
        raise ShapeError(field, f"{_NAMES[shape]} is needed, not {shown(value)}")
    if shape is float and not math.isfinite(value):
        raise ShapeError(field, f"a finite number is needed, not {value}")
    return value


def _within(value: Any, bounds: Any, field: str) -> Any:
    if isinstance(bounds, Within) and not bounds.holds(value):
        raise ShapeError(field, f"a number {bounds} is needed, not {shown(value)}")
    return value


def _either(value: Any, shapes: Sequence[Any], field: str) -> Any:
    wanted = [s for s in shapes if s is not type(None)]
    if value is None and len(wanted) < len(shapes):
        return None
    if len(wanted) == 1:
        return fit(value, wanted[0], field)
    for shape in wanted:
        try:
            return fit(value, shape, field)
        except ShapeError:
            continue
    raise ShapeError(
        field, f"{' or '.join(_NAMES.get(s, 'something else') for s in wanted)} is needed, not {shown(value)}"
    )


def _one_of(value: Any, choices: tuple[Any, ...], field: str) -> Any:
    if not isinstance(value, str | int) or value not in choices:
        raise ShapeError(field, f"one of {', '.join(map(str, choices))} is needed, not {shown(value)}")
    return value


def _series(value: Any, origin: type, arguments: tuple[Any, ...], field: str) -> Any:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ShapeError(field, f"a list is needed, not {shown(value)}")
    if origin is tuple and arguments[1:] != (...,):
        if len(value) != len(arguments):
            raise ShapeError(field, f"a list of {len(arguments)} is needed, not of {len(value)}")
        return tuple(fit(v, s, f"{field}[{i}]") for i, (v, s) in enumerate(zip(value, arguments, strict=True)))
    items = [fit(v, arguments[0], f"{field}[{i}]") for i, v in enumerate(value)]
    return tuple(items) if origin is tuple else items


@lru_cache(maxsize=256)
def _hints(shape: Any) -> dict[str, Any]:
    return typing.get_type_hints(shape, include_extras=True)


def _record(value: Any, shape: Any, field: str) -> Any:
    """A dataclass or a typed dictionary."""
    if not isinstance(value, Mapping):
        raise ShapeError(field, f"an object is needed, not {shown(value)}")
    hints = _hints(shape)
    if dataclasses.is_dataclass(shape):
        required = {
            f.name
            for f in dataclasses.fields(shape)
            if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        }
        hints = {f.name: hints[f.name] for f in dataclasses.fields(shape) if f.init}
    else:
        required = {n for n in shape.__required_keys__ if typing.get_origin(hints[n]) is not typing.NotRequired}
    if missing := [name for name in hints if name in required and name not in value]:
        raise ShapeError(_inside(field, missing[0]), "it is missing")
    made = {name: fit(value[name], hint, _inside(field, name)) for name, hint in hints.items() if name in value}
    return shape(**made) if isinstance(shape, type) and dataclasses.is_dataclass(shape) else {**value, **made}
