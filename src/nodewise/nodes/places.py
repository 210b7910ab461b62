# SPDX-License-Identifier: BSD-3-Clause
"""TOML with the places of its keys, so that what is wrong with a value is said with line and column."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nodewise.base.bounded_json import read_bounded
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass

_MOST_BYTES = 4 << 20
#: What is written as a.b.c further down than this is found by the whole of it alone.
_DEEPEST = 20
_LONGEST = 400
_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^(\s*)((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([\w-]+)""")


@dataclass(frozen=True)
class Document:
    """A file's values, and `places` of its keys: (table, number among those of that name, key) to (line, column), both from 1."""

    path: str
    values: dict[str, Any]
    places: dict[tuple[str, int, str], tuple[int, int]]

    def wrong(self, what: str, table: str = "", number: int = 0, key: str = "", hint: str | None = None) -> InputError:
        """The error to raise about a key, or about the table where the key is not found."""
        spots = ((table, number, key), (table, number, ""), ("", 0, table))
        place = next((p for spot in spots if (p := self.places.get(spot))), None)
        at = f", line {place[0]}, column {place[1]}" if place else ""
        return InputError(f"{self.path}{at}: {_cut(what)}", hint)


def _cut(text: str) -> str:
    """A message that can be read, whatever the file holds."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _names(text: str) -> str:
    return ".".join(next(g for g in m.groups() if g is not None) for m in _PART.finditer(text))


def _places(text: str) -> dict[tuple[str, int, str], tuple[int, int]]:
    found: dict[tuple[str, int, str], tuple[int, int]] = {}
    counts: dict[str, int] = {}
    table, number = "", 0
    for line, content in enumerate(text.splitlines(), 1):
        header, key = _HEADER.match(content), _KEY.match(content)
        if header and not key:
            table = _names(header[2])
            counts[table] = counts.get(table, -1) + 1
            number = counts[table]
            place = (line, content.index("[") + 1)
            found[table, number, ""] = place
            above, _, last = table.rpartition(".")
            if above:
                found.setdefault((above, max(0, counts.get(above, 0)), last), place)
        elif key:
            place = (line, len(key[1]) + 1)
            found.setdefault((table, number, _names(key[2])), place)
            # a.b.c is c of the table a.b, and a of this one has begun here
            parts = [_names(m[0]) for m in _PART.finditer(key[2])][:_DEEPEST]
            for at in range(1, len(parts)):
                inner = ".".join([*([table] if table else []), *parts[:at]])
                found.setdefault((inner, 0, parts[at]), place)
                found.setdefault((table, number, ".".join(parts[:at])), place)
    return found


def read_toml(path: Path) -> Document:
    """A file of tables. Raises InputError, with line and column where it is not valid TOML."""
    try:
        # some editors begin a file with a mark of its encoding
        text = read_bounded(path, _MOST_BYTES).decode("utf-8-sig")
        return Document(str(path), tomllib.loads(text), _places(text))
    except OSError as problem:
        raise InputError(f"cannot read {path}: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        before = problem.object[: problem.start]
        line, column = before.count(b"\n") + 1, problem.start - before.rfind(b"\n")
        raise InputError(f"{path}, line {line}, column {column}: it is no UTF-8") from problem
    except tomllib.TOMLDecodeError as problem:
        found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(problem))
        at = f", line {found[2]}, column {found[3]}" if found and found[2] else ", at its end" if found else ""
        what = found[1] if found else str(problem)
        raise InputError(f"{path}{at}: not valid TOML: {what[:1].lower()}{what[1:]}") from problem
    except RecursionError as problem:
        raise InputError(f"{path}: nested too deep") from problem
    except ValueError as problem:
        if "integer string conversion" not in str(problem):
            raise InputError(f"{path}: {problem}") from problem
        # Python refuses to convert some thousand digits, and does not say where they stand
        above = text[: long.start()] if (long := re.search(r"\d[\d_]{1000,}", text)) else ""
        raise InputError(f"{path}, line {above.count(chr(10)) + 1}: a number has too many digits") from problem


def nearest(name: str, known: Iterable[str]) -> str | None:
    """A hint that names what may have been meant; None where nothing is near."""
    found = difflib.get_close_matches(name[:200], list(known), 1, 0.6)
    return f"did you mean {found[0]}?" if found else None
