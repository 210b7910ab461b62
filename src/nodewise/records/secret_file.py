# SPDX-License-Identifier: BSD-3-Clause
"""The one file of an experiment that holds what is masked in all others: readable by its owner alone, from the first moment.

Continuing an experiment, or repeating it, needs the true values; looking at it does not.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from nodewise.base.bounded_json import parse_json, read_bounded
from nodewise.base.errors import InputError
from nodewise.base.masking import Masks, has_masks
from nodewise.base.shapes import ShapeError, fit

SECRETS = "secrets.json"
SCHEMA = 1
#: Parts of a question in which no secret is given: what is known of the machine, and a text that comes with a study.
PLAIN = ("machine", "readme")


class Through(Protocol):
    """What a record is led through when it is read, before anything else sees it."""

    def question(self, data: dict[str, Any]) -> dict[str, Any]:
        """Another question in the place of the one that is kept. Raises InputError where there cannot be one."""

    def line(self, data: dict[str, Any]) -> dict[str, Any]:
        """Another line of samples."""

    def found(self, data: dict[str, Any]) -> dict[str, Any]:
        """Other results."""


class Revealed:
    """A record as it was before it was masked; `masks` go on with it."""

    def __init__(self, folder: Path):
        """Raises InputError where the file of secrets cannot be read, or is damaged."""
        self._path = folder / SECRETS
        self.masks = Masks(_read(self._path))

    def question(self, data: dict[str, Any]) -> dict[str, Any]:
        """The question with its true values. Raises InputError where some are not there."""
        made: dict[str, Any] = self.masks.revealed({n: v for n, v in data.items() if n not in PLAIN})
        if has_masks(made):
            raise InputError(
                f"what is masked in {self._path.parent} is not known: it is not in {self._path}",
                "without it the experiment cannot go on nor be repeated: put the file back, or ask again",
            )
        for then, now in zip(_contenders(data), _contenders(made), strict=True):
            self.masks.keep(now, then)
        return {**made, **{name: data[name] for name in PLAIN if name in data}}

    def line(self, data: dict[str, Any]) -> dict[str, Any]:
        """A line with its true values."""
        made: dict[str, Any] = self.masks.revealed(data)
        if data.get("type") == "setting" and isinstance(made.get("key"), str):
            self.masks.keep(made["key"], str(data["key"]))
        return made

    def found(self, data: dict[str, Any]) -> dict[str, Any]:
        """Results with the true values."""
        made: dict[str, Any] = self.masks.revealed(data)
        return made


def _contenders(question: Mapping[str, Any]) -> list[str]:
    found = question.get("contenders")
    return [c["name"] for c in found if isinstance(c, dict) and isinstance(c.get("name"), str)] if found else []


def _read(path: Path) -> dict[str, list[str]]:
    try:
        data = parse_json(read_bounded(path))
        if not isinstance(data, dict) or data.get("nodewise_secrets") != SCHEMA:
            raise ShapeError("nodewise_secrets", f"it is not {SCHEMA}")
        values: dict[str, list[str]] = fit(data.get("values"), Mapping[str, list[str]], "values")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as problem:
        raise InputError(
            f"{path} cannot be read: {problem.strerror}", "it is its owner's alone: go on as who made the experiment"
        ) from problem
    except ValueError as problem:
        raise InputError(f"{path} is damaged: {problem}", "put back a copy of it, or ask again") from problem
    return values


def write_secrets(folder: Path, values: Mapping[str, list[str]]) -> None:
    """Write the file whole or not at all; at no moment can others read it. Raises OSError."""
    path = folder / SECRETS
    part = folder / f".{SECRETS}.{os.getpid()}.part"
    text = json.dumps({"nodewise_secrets": SCHEMA, "values": values}, indent=1) + "\n"
    with contextlib.suppress(FileNotFoundError):
        part.unlink()
    # a link that somebody put there is not followed; a link to the file itself is replaced
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(file, "wb") as out:
            os.fchmod(out.fileno(), 0o600)
            out.write(text.encode())
            out.flush()
            os.fsync(out.fileno())
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
