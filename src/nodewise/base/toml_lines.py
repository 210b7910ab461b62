# SPDX-License-Identifier: BSD-3-Clause
"""TOML files, and where in their text a table or a key stands, since what reads TOML does not tell."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from nodewise.base.bounded_json import read_bounded
from nodewise.base.errors import InputError

_MOST_BYTES = 1 << 20
_HEADER = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


class TomlLines:
    """The lines of a file at which its tables and keys begin: `at("command.solve.budget")` is `nodewise.toml:3: command.solve.budget`."""

    def __init__(self, path: Path, text: str = ""):
        self._path = path
        self._lines: dict[str, int] = {}
        table = ""
        for number, line in enumerate(text.splitlines(), 1):
            if (header := _HEADER.fullmatch(line)) is not None:
                table = _plain(header[1])
                around = table
                while around:
                    self._lines.setdefault(around, number)
                    around = around.rpartition(".")[0]
            elif (key := _KEY.match(line)) is not None:
                self._lines.setdefault(f"{table}.{_plain(key[1])}".lstrip("."), number)

    def __contains__(self, name: str) -> bool:
        """Whether a table or key of that name, or one within it, has a line."""
        return any(known == name or known.startswith(f"{name}.") for known in self._lines)

    def at(self, *names: str) -> str:
        """File, line and dotted name of the first of these keys that the file has a line of; else of the nearest table around one."""
        around = {name: name for name in names}
        while any(around.values()):
            for name, place in around.items():
                if place in self._lines:
                    return f"{self._path}:{self._lines[place]}: {name}"
            around = {name: place.rpartition(".")[0] for name, place in around.items()}
        return f"{self._path}: {names[0]}"


def read_toml(path: Path) -> tuple[dict[str, Any], TomlLines]:
    """What a file of at most 1 MiB says, and where. Raises InputError where it cannot be read, or is not valid TOML."""
    try:
        # some editors begin a file with a mark of its encoding
        text = read_bounded(path, _MOST_BYTES).decode("utf-8-sig")
        data = tomllib.loads(text)
    except OSError as problem:
        raise InputError(f"cannot read {path}: {problem.strerror}") from problem
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as problem:
        raise InputError(f"{path} is not valid TOML: {problem}", "see https://toml.io") from problem
    return data, TomlLines(path, text)


def _plain(dotted: str) -> str:
    return ".".join(part.strip("\"'") for part in _PART.findall(dotted))
