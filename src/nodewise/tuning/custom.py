# SPDX-License-Identifier: BSD-3-Clause
"""Axes that a user names: a place in the command, a variable, flags of a build."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from nodewise.base.errors import InputError
from nodewise.search.space import Axis
from nodewise.tuning.option import Draft, Option

#: What compilers of all vendors read, that keeps to the letter of the program's arithmetic.
FLAGS = ("-O2", "-O3", "-O2 -march=native", "-O3 -march=native", "-O3 -march=native -funroll-loops")

_INSIDE = re.compile(r"\{([\w-]+)\}")


def _axis(name: str, texts: Sequence[str], default: str | None = None) -> Axis:
    """An axis of given values, the first or `default` being the baseline's; of numbers in an order where they are some."""
    values: list[Any] = list(dict.fromkeys(texts))
    numbers = [_number(v) for v in values]
    ordered = len(values) > 2 and all(n is not None for n in numbers)
    first: Any = values[0] if default is None else default
    if ordered:
        by_text = dict(zip(values, numbers, strict=True))
        values.sort(key=lambda v: by_text[v])
        if all(re.fullmatch(r"[1-9]\d*|0", v) for v in values):
            values, first = [int(v) for v in values], int(first)
    return Axis(name, tuple(values), tuple(_spread(values)), first, ordered=ordered)


def _spread(values: Sequence[Any]) -> list[Any]:
    """The ends, the middle, the middles of both halves and so on: with few runs no part of what a user lists is left out for its place."""
    found = list(dict.fromkeys((values[-1], values[0])))
    parts = [(0, len(values) - 1)]
    for low, high in parts:
        middle = (low + high) // 2
        if middle > low:
            found.append(values[middle])
            parts += [(low, middle), (middle, high)]
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def names_in(text: str) -> set[str]:
    """The names in braces of a text."""
    return set(_INSIDE.findall(text))


def put_in(text: str, values: Mapping[str, Any]) -> str:
    """`text` with each `{NAME}` of `values` replaced; other braces stay."""
    return _INSIDE.sub(lambda m: str(values.get(m[1], m[0])), text)


def parameter_option(name: str, values: Sequence[str]) -> Option:
    """An axis over the values of `{name}` in the command, the first value being the baseline's."""

    def apply(draft: Draft, value: Any, point: Mapping[str, Any]) -> None:
        del point
        draft.command = [put_in(word, {name: value}) for word in draft.command]

    return Option(_axis(name, values), apply)


def environment_option(name: str, values: Sequence[str], inherited: Mapping[str, str]) -> Option:
    """An axis over a variable: the baseline has it as inherited (`unset` where it is not); `unset` may be among the values.

    Raises InputError where it is not a name of a variable.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise InputError(f"--env-axis {name!r} is no name of a variable", "write it such as --env-axis NAME=v1,v2")
    now = inherited.get(name, "unset")

    def apply(draft: Draft, value: Any, point: Mapping[str, Any]) -> None:
        del point
        if value == "unset":
            draft.unset.append(name)
        elif str(value) != inherited.get(name):
            draft.env[name] = str(value)

    axis = _axis(name, [now, *values], now)
    return Option(axis, apply)
