# SPDX-License-Identifier: BSD-3-Clause
"""The registry of kinds of experiments: those of `records/kinds`, a file each, and those that installed packages bring.

A package brings one by an entry point of the group `nodewise.experiments` that leads to a `Kind`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from nodewise.base.errors import InputError
from nodewise.base.registry import Registry
from nodewise.base.shapes import ShapeError, shown
from nodewise.records.kind import NEEDED, REFERENCES, Kind

_REFERENCE = re.compile(r"\w+(\.\w+)*:\w+")


def _wrong(kind: Kind, registered: Mapping[str, Kind]) -> str | None:
    del registered
    if not kind.name.isidentifier():
        return "its name is no identifier"
    given = {name: getattr(kind, name) for name in REFERENCES}
    if missing := next((name for name in NEEDED if not given[name]), None):
        return f"it has no {missing}"
    if odd := next((name for name, text in given.items() if text and not _REFERENCE.fullmatch(text)), None):
        return f"its {odd} {given[odd]!r} is no reference such as package.module:name"
    if bool(kind.judge) == bool(kind.keeps):
        return "its verdict is either judged from the samples (judge) or kept (keeps)"
    return None


KINDS = Registry(
    Kind,
    "kind of experiment",
    "nodewise.records.kinds",
    "KIND",
    "nodewise.experiments",
    "docs/adding-an-experiment.md",
    _wrong,
)


def register(kind: Kind) -> None:
    """Make a kind known from then on. Raises InputError where its name is taken, or something is missing or no reference."""
    KINDS.register(kind)


def all_kinds() -> tuple[Kind, ...]:
    """All kinds, those of nodewise first."""
    return tuple(KINDS.all().values())


def check_references(kind: Kind) -> None:
    """Raises InputError where one of another package leads nowhere: better than once all runs are made."""
    for field in REFERENCES:
        reference = getattr(kind, field)
        if not reference or reference.startswith("nodewise."):
            continue
        try:
            kind.load(field)
        except Exception as problem:
            raise InputError(
                f"the kind of experiment {kind.name!r}: its {field} {reference!r} leads nowhere: {type(problem).__name__}: {problem}",
                "tell those who make that package, or remove it",
            ) from problem


def kind_named(name: str) -> Kind:
    """The kind of a name. Raises ShapeError where there is none."""
    found = KINDS.all().get(name)
    if found is None:
        raise ShapeError("kind", f"there is no kind of experiment {shown(name)}")
    return found
