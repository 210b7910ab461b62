# SPDX-License-Identifier: BSD-3-Clause
"""A table in Org mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodewise.report.exports.cells import one_line
from nodewise.report.exports.exporter import Exporter

if TYPE_CHECKING:
    from nodewise.verdicts.confirm import Comparison
    from nodewise.verdicts.stored import Stored


def _orgmode(heads: list[str], rows: list[list[str]]) -> list[str]:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(one_line(c).replace("|", "\\vert{}") for c in cells) + " |"

    return [line(heads), "|" + "+".join(["--"] * len(heads)) + "|", *(line([f"={r[0]}=", *r[1:]]) for r in rows)]


def export(stored: Stored[Comparison]) -> str:
    """The table of a comparison."""
    from nodewise.report.text.comparison import table_rows
    from nodewise.verdicts.confirm import comparison_of

    return "\n".join(_orgmode(*table_rows(comparison_of(stored)))) + "\n"


EXPORTER = Exporter("orgmode", "The table as orgmode", export)
