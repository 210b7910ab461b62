# SPDX-License-Identifier: BSD-3-Clause
"""Nodes side by side, in lines for a terminal."""

from __future__ import annotations

from nodewise.history.fleet import Fleet, NodeRow
from nodewise.runner.objective import format_metric
from nodewise.statistics.compare import Ratio
from nodewise.statistics.verdict import Word, format_factor, format_ratio


def fleet_headline(fleet: Fleet) -> str:
    """How many nodes stand out, in few words."""
    rows = [row for table in fleet.tables for row in table.rows]
    slow = len({row.node for row in rows if row.verdict is Word.SLOWER})
    fast = len({row.node for row in rows if row.verdict is Word.FASTER})
    open_ = len({row.node for row in rows if row.verdict is Word.UNDECIDED})
    parts = [f"{n} {word}" for n, word in ((slow, "slower"), (fast, "faster"), (open_, "undecided")) if n]
    return ", ".join(parts) if parts else "No node stands out"


def said_row(row: NodeRow) -> str:
    """The ratio with its interval, where it has one."""
    if row.verdict is None:
        return "1×"
    if row.low is None or row.high is None:
        return format_factor(row.ratio)
    return format_ratio(Ratio(row.ratio, row.low, row.high, row.runs))


def fleet_text(fleet: Fleet) -> str:
    """A table for each thing that was measured."""
    lines: list[str] = []
    for table in fleet.tables:
        lines += [f"{table.name}{f', {table.role}' if table.role else ''}: each node beside {table.middle}"]
        cells = [
            (
                r.node,
                format_metric(table.metric, r.median),
                said_row(r),
                r.verdict.value if r.verdict else "in the middle",
            )
            for r in table.rows
        ]
        widths = [max(len(c[i]) for c in cells) for i in range(4)]
        for row, cell in zip(table.rows, cells, strict=True):
            line = "  ".join(c.ljust(w) for c, w in zip(cell, widths, strict=True))
            lines.append(f"  {line}".rstrip())
            lines += [f"      {one}" for one in row.differs]
        lines.append("")
    lines += [f"note      {one}" for one in fleet.left_out]
    return "\n".join([*lines, f"nodes     {fleet_headline(fleet)}"])
