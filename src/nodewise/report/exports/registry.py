# SPDX-License-Identifier: BSD-3-Clause
"""The registry of exporters: those of `report/exports/formats`, a file each, and those that installed packages bring.

A package brings one by an entry point of the group `nodewise.exporters` that leads to an `Exporter`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nodewise.base.errors import InputError
from nodewise.base.late import late
from nodewise.base.registry import Registry
from nodewise.report.exports.exporter import Exporter

if TYPE_CHECKING:
    from nodewise.verdicts.stored import Stored

_NAME = late(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def _wrong(exporter: Exporter, registered: Mapping[str, Exporter]) -> str | None:
    del registered
    if not _NAME.fullmatch(exporter.name):
        return "its name is not made of small letters, digits and hyphens, as that of an option is"
    if not exporter.help:
        return "it has no help"
    return None if exporter.kinds else "it takes no kind of experiment"


EXPORTERS = Registry(
    Exporter,
    "exporter",
    "nodewise.report.exports.formats",
    "EXPORTER",
    "nodewise.exporters",
    "docs/adding-an-exporter.md",
    _wrong,
)


def register(exporter: Exporter) -> None:
    """Make an exporter known from then on. Raises InputError where its name is taken or none, or something is missing."""
    EXPORTERS.register(exporter)


def exporters(kind: str | None = None) -> dict[str, Exporter]:
    """The exporters of a kind of experiment, or all of them, by name in alphabetical order."""
    found = EXPORTERS.all()
    return {name: found[name] for name in sorted(found) if kind is None or kind in found[name].kinds}


def suite_exporters() -> dict[str, Exporter]:
    """The exporters of a suite's rows, by name in alphabetical order."""
    return {name: exporter for name, exporter in exporters().items() if exporter.suite is not None}


def export_text(name: str, stored: Stored[object]) -> str:
    """An experiment in a format. Raises InputError where that format is not for experiments of its kind."""
    able = exporters(stored.kind.name)
    if name not in able:
        others = ", ".join(f"--export-{one}" for one in able)
        raise InputError(
            f"--export-{name} is not for a {stored.kind.name}",
            f"these are: {others}" if others else "--csv writes its table",
        )
    text = able[name].export(stored)
    if not isinstance(text, str):
        who = EXPORTERS.brought(name) or f"the exporter {name!r}"
        raise InputError(f"{who} failed: it gave no text but {type(text).__name__}", f"see {EXPORTERS.guide}")
    return text
