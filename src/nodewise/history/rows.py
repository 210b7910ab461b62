# SPDX-License-Identifier: BSD-3-Clause
"""Rows of a history as they are read: each value is checked for what its column may hold; a row with another one is left out and named."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from nodewise.base.bounded_json import LARGEST, parse_json
from nodewise.base.frozen import dataclass
from nodewise.history.database import Database

#: The first and the last second that have a date.
FIRST_S, LAST_S = datetime.min.replace(tzinfo=UTC).timestamp(), datetime(9999, 12, 31, tzinfo=UTC).timestamp()
#: A row that is damaged is named once; of more than so many the rest is only counted out of what is shown.
_MOST_NAMED = 100


@dataclass(frozen=True)
class _Kind:
    """What a column holds: `of` makes it of what was read, and raises ValueError for what is none; `same` are types that need no look."""

    needed: str
    of: Callable[[Any], Any]
    same: frozenset[type] = frozenset()


def _number(low: float, high: float) -> Callable[[Any], Any]:
    def of(value: Any) -> Any:
        if type(value) not in (int, float) or not low <= value <= high:
            raise ValueError
        return value

    return of


def _text(value: Any) -> Any:
    raise ValueError


def _whole(low: int, high: int) -> Callable[[Any], Any]:
    def of(value: Any) -> Any:
        if type(value) is not int or not low <= value <= high:
            raise ValueError
        return value

    return of


def _truth(value: Any) -> Any:
    if type(value) not in (int, bool) or value not in (0, 1):
        raise ValueError
    return bool(value)


def _or_none(of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else of(value)


def _singles(value: Any) -> tuple[float, ...]:
    if not isinstance(value, bytes | memoryview):
        raise ValueError
    # also raised where it is no whole number of values
    found = tuple(array("d", bytes(value)))
    for one in found:
        _POSITIVE.of(one)
    return found


def _conditions(value: Any) -> dict[str, str]:
    found = parse_json(value) if isinstance(value, str) else None
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        raise ValueError
    return found


_TEXT = _Kind("a text", _text, frozenset({str}))
_NUMBER = _Kind("a whole number", _whole(-(1 << 63), (1 << 63) - 1), frozenset({int}))
_COUNT = _Kind("a whole number from zero", _whole(0, (1 << 63) - 1))
_TRUTH = _Kind("0 or 1", _truth)
_POSITIVE = _Kind("a number above zero", _number(1 / LARGEST, LARGEST))
_PERHAPS = _Kind("a number or nothing", _or_none(_number(-LARGEST, LARGEST)))

_COLUMNS: dict[str, dict[str, _Kind]] = {
    "machine": {
        "id": _NUMBER,
        "host": _TEXT,
        "processor": _TEXT,
        "conditions": _Kind("an object of texts in JSON", _conditions),
    },
    "series": {
        **dict.fromkeys(("program", "name", "project", "role", "metric"), _TEXT),
        "id": _NUMBER,
        "maximise": _TRUTH,
    },
    "experiment": {
        **dict.fromkeys(("mark", "kind", "tool", "version", "folder", "commit_hash", "branch"), _TEXT),
        **dict.fromkeys(("repository", "stopped", "sentence"), _TEXT),
        **dict.fromkeys(("id", "machine"), _NUMBER),
        "began": _Kind("a time, in seconds since 1970", _number(FIRST_S, LAST_S)),
        "commit_changed": _Kind("0, 1 or nothing", _or_none(_truth)),
    },
    "point": {
        **dict.fromkeys(("series", "experiment"), _NUMBER),
        **dict.fromkeys(("low", "high", "mad"), _PERHAPS),
        **dict.fromkeys(("runs", "failed"), _COUNT),
        "median": _POSITIVE,
        "singles": _Kind("the bytes of numbers above zero", _singles),
    },
    "learned": {
        **dict.fromkeys(("program", "libraries", "metric", "command", "surface"), _TEXT),
        "experiment": _NUMBER,
    },
}
#: What tells rows of a table apart.
_KEYS = {
    "machine": ("id",),
    "series": ("id",),
    "experiment": ("id",),
    "point": ("series", "experiment"),
    "learned": ("experiment",),
}


class Rows:
    """Reads rows from a database. `damaged` names what was left out of them: the history, the table, the row and the field."""

    def __init__(self, database: Database):
        self._database = database
        self._damaged: dict[str, None] = {}

    @property
    def damaged(self) -> tuple[str, ...]:
        """What was found so far, each once."""
        return tuple(self._damaged)

    def read(self, columns: str, rest: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The whole rows of `SELECT columns rest`, where a column is `table.name`, as what they hold. Raises StoreError."""
        asked = [tuple(one.split(".")) for one in columns.split()]
        keys = [(table, key) for table in dict.fromkeys(table for table, _ in asked) for key in _KEYS[table]]
        wanted = [".".join(one) for one in (*asked, *keys)]
        found = self._database.select(f"SELECT {', '.join(wanted)} {rest}", values)
        if not found:
            return []
        bad: set[int] = set()
        made: list[Sequence[Any]] = []
        for at, column in enumerate(zip(*found, strict=True)):
            table, name = (*asked, *keys)[at]
            kind = _COLUMNS[table][name]
            # of a long trend nearly all is as it should be: one look for a column
            if kind.same and set(map(type, column)) <= kind.same:
                made.append(column)
                continue
            own: list[Any] = [None] * len(column)
            for number, value in enumerate(column):
                try:
                    own[number] = value if type(value) in kind.same else kind.of(value)
                except ValueError:
                    if number not in bad:
                        bad.add(number)
                        self._name(table, name, kind, dict(zip(wanted, found[number], strict=True)))
            made.append(own)
        rows = list(zip(*made[: len(asked)], strict=True))
        return [row for number, row in enumerate(rows) if number not in bad] if bad else rows

    def tell(self, table: str, row: object, problem: str) -> None:
        """Name one more row that is left out."""
        if len(self._damaged) < _MOST_NAMED:
            self._damaged[f"{self._database.name}: table {table}, row {row}: {problem}"] = None

    def _name(self, table: str, name: str, kind: _Kind, row: dict[str, Any]) -> None:
        key = [row[f"{table}.{one}"] for one in _KEYS[table]]
        if key == [None] and table == "machine":
            # it is asked for by the row of an experiment
            self.tell("experiment", row.get("experiment.id"), "machine: there is no such row")
            return
        shown = " of ".join(f"{one} {_short(value)}" for one, value in zip(_KEYS[table], key, strict=True))
        told = shown.removeprefix("id ")
        self.tell(table, told, f"{name}: {kind.needed} is needed, not {_short(row[f'{table}.{name}'])}")


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bytes | memoryview):
        return f"{len(value)} bytes"
    if isinstance(value, float) and not math.isfinite(value):
        return "a number without bounds"
    text = repr(value)
    return text if len(text) <= 24 else f"{text[:20]}…"
