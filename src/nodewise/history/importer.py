# SPDX-License-Identifier: BSD-3-Clause
"""Importer: what reads another tool's results; a file each in `history/importers`, or of an installed package."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.base.registry import Registry
from nodewise.history.entry import Entry


@dataclass(frozen=True)
class Importer:
    """Reads results of the tool `title`: those in files that are `wants`, a function of the path and the JSON in it (None: it is a folder).

    `read` is a function of the same two that gives the entries; for what is wrong in them it raises ValueError, in words.
    """

    name: str
    title: str
    wants: Callable[[Path, Any], bool]
    read: Callable[[Path, Any], Sequence[Entry]]


def _wrong(one: Importer, registered: Mapping[str, Importer]) -> str | None:
    del registered
    return None if one.title else "it has no title"


IMPORTERS = Registry(
    Importer,
    "importer",
    "nodewise.history.importers",
    "IMPORTER",
    "nodewise.importers",
    "docs/history.md",
    _wrong,
)


def key_of(tool: str, *parts: Any) -> str:
    """The key of an entry that has none of its own: the same results are the same entry, however often they are imported."""
    return hashlib.sha256(json.dumps([tool, *parts], sort_keys=True, default=str).encode()).hexdigest()[:32]


def number(value: Any, what: str) -> float:
    """A number that is read. Raises ValueError where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} is no number")
    return float(value)


def numbers(values: Any, what: str) -> list[float]:
    """A list of numbers; None in it is left out. Raises ValueError where it is something else."""
    if not isinstance(values, list):
        raise ValueError(f"{what} is no list")
    return [number(v, what) for v in values if v is not None]


def mapping(value: Any, what: str) -> Mapping[str, Any]:
    """An object. Raises ValueError where it is something else."""
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no object")
    return value


def texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Plain values by name as texts: conditions."""
    return {k: str(v) for k, v in values.items() if isinstance(v, str | int | float) and v != ""}
