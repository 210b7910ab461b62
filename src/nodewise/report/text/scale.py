# SPDX-License-Identifier: BSD-3-Clause
"""A scaling in lines of text: the table of speedups, the law, what is expected."""

from __future__ import annotations

import textwrap

from rich.markup import escape
from rich.table import Table

from nodewise.base.units import format_count, format_percent, format_seconds
from nodewise.report.text.rows import drawn
from nodewise.statistics.compare import Ratio
from nodewise.statistics.scaling import Expected
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.statistics.verdict import format_factor, format_ratio
from nodewise.verdicts.scale import PREDICTED, Prediction, ScalePoint, ScaleVerdict, one_of
from nodewise.verdicts.stored import Stored

_ENDED = {
    "budget": "the budget ended first",
    "failed": "no number ran well any more",
    "interrupted": "interrupted: this is what there is so far",
    "cut off": "cut off before its end: this is what there is so far",
}


def point_rows(points: tuple[ScalePoint, ...], over: str) -> tuple[list[str], list[list[str]]]:
    """Heads and cells: each count with its time, speedup beside the ideal one, and efficiency."""
    heads = [over, "median", "MAD", "runs", "speedup", "ideal", "efficiency"]
    rows = []
    for p in points:
        if p.seconds is None or p.mad_s is None or p.speedup is None:
            rows.append([str(p.count), "–", "–", str(p.runs), p.error or "–", f"{p.ideal:.3g}×", "–"])
            continue
        share = format_percent(p.efficiency or 0.0)
        speedup = format_factor(p.speedup)
        if p.low is not None and p.high is not None:
            speedup = format_ratio(Ratio(p.speedup, p.low, p.high, p.runs))
        rows.append(
            [
                str(p.count),
                format_seconds(p.seconds),
                format_seconds(p.mad_s),
                str(p.runs),
                speedup,
                f"{p.ideal:.3g}×",
                share,
            ]
        )
    return heads, rows


def law_rows(verdict: ScaleVerdict) -> tuple[list[str], list[list[str]]]:
    """Heads and cells: each law with its coefficients and its left-out error, the best first."""
    rows = [
        [
            law.name,
            law.formula,
            ", ".join(f"{c.value:.3g} ({c.low:.3g} – {c.high:.3g})" for c in law.coefficients),
            format_percent(law.left_out_error),
        ]
        for law in verdict.laws
    ]
    return ["law", "time of the work of one, with n", "a, b, …", "missed by"], rows


def _span(one: Expected) -> str:
    return f"{format_seconds(one.value)} ({format_seconds(one.low)}–{format_seconds(one.high)})"


def _times(one: Expected) -> str:
    return format_ratio(Ratio(one.value, one.low, one.high, FEWEST_BLOCKS))


def prediction_said(one: Prediction, over: str, times: float) -> str:
    """What is expected at a count, in a sentence; the job is `times` as long."""
    hours = f"{one.node_hours.value:.3g} node-hours"
    job = f"; {times:g} times the work takes {format_seconds(one.job_s.value)}, {hours}" if times != 1 else f", {hours}"
    return (
        f"{one_of(over, one.count)}: {_span(one.seconds)}, {_times(one.speedup)}, "
        f"{format_percent(one.efficiency.value)} efficient{job}"
    )


def said(verdict: ScaleVerdict) -> list[tuple[str, str]]:
    """What there is to say besides the table: a word and a sentence each."""
    lines = [("scaling", f"{'weak' if verdict.weak else 'strong'}: {verdict.headline}"), ("law", verdict.sentence)]
    lines += [("expected", prediction_said(one, verdict.over, verdict.times)) for one in verdict.predictions]
    if verdict.deadline is not None:
        lines.append(("deadline", verdict.deadline.sentence))
    if verdict.predictions or verdict.deadline is not None:
        lines.append(("", PREDICTED))
    if verdict.measure:
        lines.append(("measure", verdict.measure))
    lines += [("note", warning) for warning in verdict.warnings]
    out = (
        f", {verdict.left_out} more {'was' if verdict.left_out == 1 else 'were'} disturbed" if verdict.left_out else ""
    )
    ended = f"; {_ENDED[verdict.stopped]}" if verdict.stopped in _ENDED else ""
    if verdict.stopped == "runs" and _is_open(verdict):
        ended = "; with a larger --blocks the intervals are narrower"
    blocks = f"{verdict.blocks} block{'s' * (verdict.blocks != 1)}{out}"
    lines.append(
        ("runs", f"{blocks}, {format_count(verdict.runs, 'run')} in {format_seconds(verdict.seconds_spent)}{ended}")
    )
    return lines


def _is_open(verdict: ScaleVerdict) -> bool:
    """Whether a speedup may be noise."""
    ran = [p for p in verdict.points if p.speedup is not None][1:]
    return any(p.low is None or p.high is None or p.low <= 1 <= p.high for p in ran)


def scale_text(stored: Stored[ScaleVerdict], width: int) -> str:
    """The table, the law, and what is expected."""
    verdict = stored.verdict
    table = Table(box=None, padding=(0, 2, 0, 0))
    heads, rows = point_rows(verdict.points, verdict.over)
    for heading in heads:
        table.add_column(heading, justify="right" if heading != "speedup" else "left", no_wrap=heading != "speedup")
    for row in rows:
        table.add_row(*map(escape, row))
    lines = [drawn(table, width), ""]
    for word, text in said(verdict):
        lines += textwrap.wrap(f"{word:<10}{text}", max(40, width), subsequent_indent=" " * 10, break_on_hyphens=False)
    return "\n".join(lines)
