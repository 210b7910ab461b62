# SPDX-License-Identifier: BSD-3-Clause
"""The ranks of a setting, as rows and as a table for a terminal."""

from __future__ import annotations

from nodewise.base.processors import format_processors
from nodewise.base.units import format_bytes, format_percent, format_seconds
from nodewise.records.experiment import Experiment
from nodewise.verdicts.ranks import RankTable, ranks_of

#: The most ranks that a terminal has room for; of more the slowest are shown.
_MOST_ROWS = 32


def rank_rows(table: RankTable) -> tuple[list[str], list[list[str]]]:
    """Heads and cells; the policy of memory is a column where a rank has one."""
    memory = any(row.memory for row in table.rows)
    heads = ["rank", "size", "host", "threads", "seconds", "processor time", "memory", "allowed"]
    rows = [
        [
            *(str(row.rank), str(row.size), row.host, str(row.threads or "–")),
            *(format_seconds(row.seconds), format_seconds(row.cpu_s), format_bytes(row.peak_bytes)),
            format_processors(row.allowed),
            *([row.memory or "default"] if memory else []),
        ]
        for row in table.rows
    ]
    return [*heads, *(["pages"] if memory else [])], rows


def rank_sentence(table: RankTable) -> str:
    """How unevenly the ranks took their time, in words; empty for one rank."""
    if table.imbalance is None:
        return ""
    runs = f"median of {table.runs} runs" if table.runs > 1 else "one run"
    return f"imbalance {format_percent(table.imbalance)}: how much longer the slowest rank took than the mean ({runs})"


def rank_lines(table: RankTable) -> list[str]:
    """The table for a terminal, and how uneven it is."""
    heads, rows = rank_rows(table)
    if len(rows) > _MOST_ROWS:
        slowest = sorted(range(len(rows)), key=lambda i: -table.rows[i].seconds)[:_MOST_ROWS]
        rows = [rows[i] for i in sorted(slowest)]
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in [heads, *rows]]
    if len(rows) < len(table.rows):
        lines.append(f"the slowest {len(rows)} of {len(table.rows)} ranks")
    sentence = rank_sentence(table)
    return [*lines, *([sentence] if sentence else [])]


def titled_rank_lines(experiment: Experiment, key: str) -> list[str]:
    """The table of one of an experiment's settings, next to its name, as an answer shows it; nothing where it has no ranks."""
    table = ranks_of(experiment, key)
    lines = [] if table is None else rank_lines(table)
    return [f"{'ranks' if i == 0 else '':<9} {line}" for i, line in enumerate(lines)]
