# SPDX-License-Identifier: BSD-3-Clause
"""A table in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodewise.report.exports.cells import one_line
from nodewise.report.exports.exporter import Exporter

if TYPE_CHECKING:
    from nodewise.verdicts.confirm import Comparison
    from nodewise.verdicts.stored import Stored
    from nodewise.verdicts.suite import SuiteVerdict


def _code(text: str) -> str:
    """A command as Markdown shows code, whatever backticks are in it."""
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


def _markdown(heads: list[str], rows: list[list[str]]) -> list[str]:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(one_line(c).replace("|", "\\|") for c in cells) + " |"

    return [line(heads), line([":---", *["---:"] * (len(heads) - 1)]), *(line([_code(r[0]), *r[1:]]) for r in rows)]


def export(stored: Stored[Comparison]) -> str:
    """The table of a comparison."""
    from nodewise.report.text.comparison import table_rows
    from nodewise.verdicts.confirm import comparison_of

    return "\n".join(_markdown(*table_rows(comparison_of(stored)))) + "\n"


def export_suite(verdict: SuiteVerdict) -> str:
    """The table of a suite's commands."""
    from nodewise.report.text.suite import suite_table

    return "\n".join(_markdown(*suite_table(verdict))) + "\n"


EXPORTER = Exporter("markdown", "The table as markdown", export, suite=export_suite)
