# SPDX-License-Identifier: BSD-3-Clause
"""The rows of a suite in lines of text."""

from __future__ import annotations

from nodewise.runner.objective import format_metric, named_metric
from nodewise.verdicts.suite import SuiteRow, SuiteVerdict


def suite_lines(verdict: SuiteVerdict) -> list[str]:
    """A table, what could not be measured with its reason, and what is to be known of the runs."""
    heads, cells = suite_table(verdict)
    rows = [heads, *cells]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [f"{row.name}: {row.error}" for row in verdict.rows if row.error is not None]
    lines += [f"{row.name}: note: {text}" for row in verdict.rows for text in row.warnings]
    return [*lines, *(f"{name}: left out, it is for other machines" for name in verdict.left_out)]


def suite_table(verdict: SuiteVerdict) -> tuple[list[str], list[list[str]]]:
    """Its heads and its rows."""
    against = ["against the baseline"] if any(row.told for row in verdict.rows) else []
    heads = ["command", "median", "95% interval", "runs", *against]
    return heads, [list(_cells(row))[: len(heads)] for row in verdict.rows]


def _cells(row: SuiteRow) -> tuple[str, ...]:
    if row.median is None:
        return row.name, "–", "–", str(row.runs), "failed"
    interval = "–"
    if row.low is not None and row.high is not None:
        interval = f"{format_metric(row.metric, row.low)} – {format_metric(row.metric, row.high)}"
    return row.name, named_metric(row.metric, row.median), interval, str(row.runs), row.told
