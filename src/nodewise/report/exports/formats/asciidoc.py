# SPDX-License-Identifier: BSD-3-Clause
"""A table in AsciiDoc."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodewise.report.exports.cells import one_line
from nodewise.report.exports.exporter import Exporter

if TYPE_CHECKING:
    from nodewise.verdicts.confirm import Comparison
    from nodewise.verdicts.stored import Stored


def _asciidoc(heads: list[str], rows: list[list[str]]) -> list[str]:
    lines = [f'[cols="<{",>" * (len(heads) - 1)}"]', "|===", "".join(f"| {h} " for h in heads).rstrip(), ""]
    for row in rows:
        lines += [*(f"| {one_line(c).replace('|', chr(92) + '|')}" for c in [f"`+{row[0]}+`", *row[1:]]), ""]
    return [*lines, "|==="]


def export(stored: Stored[Comparison]) -> str:
    """The table of a comparison."""
    from nodewise.report.text.comparison import table_rows
    from nodewise.verdicts.confirm import comparison_of

    return "\n".join(_asciidoc(*table_rows(comparison_of(stored)))) + "\n"


EXPORTER = Exporter("asciidoc", "The table as asciidoc", export)
