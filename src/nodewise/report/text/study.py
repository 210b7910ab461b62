# SPDX-License-Identifier: BSD-3-Clause
"""What a study found, in lines of text."""

from __future__ import annotations

from rich.cells import cell_len
from rich.table import Table

from nodewise.base.units import format_percent, format_rate, format_seconds
from nodewise.report.pages.study import peer_cell
from nodewise.report.text.rows import drawn
from nodewise.verdicts.stored import Stored
from nodewise.verdicts.study import StudyRow, StudyVerdict


def study_text(stored: Stored[StudyVerdict], width: int) -> str:
    """Of each run of the study the table, what came out, and what the study has to say."""
    return "\n\n".join(_one(result, width) for result in stored.verdicts)


#: The longest bar, and the shortest that still tells shares apart, in columns; columns lie so far apart.
_BAR, _SHORT_BAR, _APART = 10, 4, 2


def _table(result: StudyVerdict, width: int) -> Table:
    unit = result.rows[0].unit
    headings = ("contender", "kind", "time", unit, "to best peer", "of limit")
    cells = {id(row): _cells(result, row) for row in result.rows}
    widest = [max(map(cell_len, column)) for column in zip(headings, *cells.values(), strict=True)]
    room = width - sum(widest) - _APART * len(headings)
    longest = min(_BAR, room) if room >= _SHORT_BAR else 0
    table = Table(box=None, padding=(0, _APART, 0, 0), pad_edge=False)
    for heading in (*headings, ""):
        table.add_column(heading, justify="right" if heading in ("time", unit) else "left", no_wrap=bool(heading))
    for row in result.rows:
        share = row.share_of_limit
        last = "█" * max(1, round(longest * min(1.0, share))) if share is not None and longest else ""
        table.add_row(*cells[id(row)], last)
    return table


def _cells(result: StudyVerdict, row: StudyRow) -> list[str]:
    if row.seconds is None:
        return [row.contender, row.kind, "not run", "", "", ""]
    share = format_percent(row.share_of_limit) if row.share_of_limit is not None else ""
    kind = "for scale" if row.for_scale else row.kind.value
    return [row.contender, kind, format_seconds(row.seconds), format_rate(row.rate), peer_cell(result, row), share]


def _one(result: StudyVerdict, width: int) -> str:
    # next to the names there is no room
    absent = [f"{row.contender}: not run: {row.not_run}" for row in result.rows if row.seconds is None]
    alike: dict[str, list[str]] = {}
    for row in result.rows:
        if row.how and row.seconds is not None:
            alike.setdefault(row.how, []).append(row.contender)
    settings = [f"{', '.join(names)}: {how}" for how, names in alike.items()]
    conditions = [f"condition: {condition}" for condition in result.conditions]
    head = f"{result.study}: {result.where}"
    return "\n".join(
        [
            head,
            drawn(_table(result, width), width),
            result.headline,
            result.sentence,
            *absent,
            *settings,
            *conditions,
            *result.report_lines,
        ]
    )
