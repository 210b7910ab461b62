# SPDX-License-Identifier: BSD-3-Clause
"""What a study found, in lines of text."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from nodewise.base.units import format_percent, format_seconds
from nodewise.report.pages.study import peer_cell
from nodewise.report.text.rows import drawn
from nodewise.verdicts.stored import Stored
from nodewise.verdicts.study import StudyVerdict


def study_text(stored: Stored[StudyVerdict], width: int) -> str:
    """Of each run of the study the table, what came out, and what the study has to say."""
    return "\n\n".join(_one(result, width) for result in stored.verdicts)


def _one(result: StudyVerdict, width: int) -> str:
    table = Table(box=None, padding=(0, 2, 0, 0))
    unit = result.rows[0].unit
    for heading in ("contender", "kind", "time", unit, "to best peer", "share of limit", ""):
        table.add_column(heading, justify="right" if heading in ("time", unit) else "left", no_wrap=bool(heading))
    for row in result.rows:
        if row.seconds is None:
            # in brackets there may be what looks like a style, such as the extra of a package
            table.add_row(row.contender, row.kind, "", "", "", "", escape(f"not run: {row.not_run}"))
            continue
        share = row.share_of_limit
        kind = "for scale" if row.for_scale else row.kind.value
        bar = "█" * max(1, round(10 * min(1.0, share))) if share is not None else ""
        shown = format_percent(share) if share is not None else ""
        time = format_seconds(row.seconds)
        table.add_row(row.contender, kind, time, f"{row.rate:.4g}", peer_cell(result, row), shown, bar)
    # next to the names there is no room
    settings = [f"{row.contender}: {row.how}" for row in result.rows if row.how and row.seconds is not None]
    conditions = [f"condition: {condition}" for condition in result.conditions]
    head = f"{result.study}: {result.where}"
    return "\n".join(
        [head, drawn(table, width), result.headline, result.sentence, *settings, *conditions, *result.report_lines]
    )
