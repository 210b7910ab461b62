# SPDX-License-Identifier: BSD-3-Clause
"""What other tools' files and folders hold, by whichever importer knows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodewise.base.bounded_json import parse_json, read_bounded
from nodewise.base.errors import InputError
from nodewise.base.masking import Masks
from nodewise.history.entries import folders_below
from nodewise.history.entry import Entry
from nodewise.history.importer import IMPORTERS


def read_files(path: Path, machine: str | None, own: Callable[[Path], Iterator[Entry]]) -> Iterator[Entry]:
    """The entries of a file, or of a folder, of another tool's; `own` reads a folder of nodewise's experiments.

    `machine` is where they were made where they do not say it. What looks like a secret in a command is masked. Raises InputError, which
    names the file, where no importer wants it, or it is damaged.
    """
    if not path.exists():
        raise InputError(f"no such file: {path}", "name results of other tools, or folders of experiments")
    if path.is_dir() and next(folders_below([path]), None) is not None:
        yield from own(path)
        return
    known = IMPORTERS.all()
    titles = ", ".join(one.title for one in known.values())
    data = None if path.is_dir() else _json(path, titles)
    importer = next((one for one in known.values() if one.wants(path, data)), None)
    if importer is None:
        raise InputError(
            f"{path} holds results of no tool that is known",
            f"known are {titles}, and folders of nodewise's experiments",
        )
    try:
        found = importer.read(path, data)
    except (ValueError, KeyError, TypeError, IndexError) as problem:
        what = f"{problem} is missing" if isinstance(problem, KeyError) else str(problem)
        raise InputError(f"{path} cannot be read as results of {importer.title}: {what}", "make it again") from problem
    if not found:
        raise InputError(f"{path} holds no results that were measured", "make it again")
    for entry in found:
        yield _masked(replace(entry, host=entry.host or machine or ""))


def _json(path: Path, tools: str) -> Any:
    try:
        return parse_json(read_bounded(path))
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror}") from problem
    except ValueError as problem:
        raise InputError(
            f"{path} is no result that can be imported, or it is damaged: {problem}",
            f"name JSON as the tool wrote it; known are {tools}",
        ) from problem


def _masked(entry: Entry) -> Entry:
    masks = Masks()
    points = tuple(replace(one, name=masks.masked(one.name), program=masks.masked(one.program)) for one in entry.points)
    return replace(entry, points=points, conditions=masks.masked(dict(entry.conditions)))
