# SPDX-License-Identifier: BSD-3-Clause
"""The page of a study: its contenders in a table and a picture, what was published, what it is, and on which machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from nodewise.base.units import format_bytes, format_percent, format_rate, format_seconds
from nodewise.report.figures.study import MOST_KNOBS, kind_of, study_figures
from nodewise.report.pages.conditions import common_values
from nodewise.report.pages.template import render
from nodewise.statistics.verdict import Word, format_factor
from nodewise.verdicts.stored import Stored
from nodewise.verdicts.study import Kind, StudyRow, StudyVerdict, furthest_ahead, ratio_text

#: What a cell is sorted by that has no number.
_LAST = 1e300
_ORDER = list(Kind)
#: Its head, what it shows of a row, and how that is written (None: the ratio to the best peer with its interval).
_Column = tuple[str, Callable[[StudyRow], float | None], Callable[[float], str] | None]


def study_page(stored: Stored[StudyVerdict]) -> str:
    """The page's HTML."""
    results = stored.verdicts
    first, best = results[0], furthest_ahead(results)
    knobs = " ".join(f"{k}={v}" for k, v in first.point.items()) if len(results) == 1 else ""
    values = {
        **common_values(stored),
        "asked_for": f"{first.study} {knobs}".strip(),
        "title": first.title,
        "headline": best.headline,
        "sentence": best.sentence if len(results) == 1 else f"{best.where} · {best.sentence}",
        "tone": "faster" if best.verdict is Word.FASTER else "",
        "runs": [
            {
                "heading": r.where,
                "many": len(r.point) > MOST_KNOBS,
                "table": table_of(r),
                "not_run": not_run(r),
                "conditions": r.conditions,
                "report_lines": r.report_lines,
                "pareto": f"pareto-{i}",
                "curve": f"curve-{i}",
            }
            for i, r in enumerate(results, 1)
        ],
        "published": published_rows(results),
        "readme": readme_html(stored.question.readme),
        "line": line_html,
    }
    return render("study.html", study_figures(results), values)


def table_of(result: StudyVerdict) -> dict[str, Any]:
    """The rows as heads and cells, each with its text and the value that it is sorted by."""
    rows = [r for r in result.rows if r.seconds is not None]
    unit = result.rows[0].unit if result.rows else ""
    drawn = {f"{result.curve.metric}{k}" for k in range(1, len(result.curve_values) + 1)} if result.curve else set()
    metrics = list(dict.fromkeys(n for r in rows for n in r.metrics if n not in drawn))
    columns: list[_Column] = [
        ("time", lambda r: r.seconds, format_seconds),
        (unit, lambda r: r.rate, format_rate),
        ("GFLOP/s", lambda r: _over_time(r, r.flops), format_rate),
        ("GB/s", lambda r: _over_time(r, r.bytes), format_rate),
        ("to best peer", lambda r: result.ratio_to_peer(r) if r.kind is not Kind.LIMIT else None, None),
        ("to plain", lambda r: result.ratio_to_plain(r) if r.kind is not Kind.LIMIT else None, format_factor),
        ("of limit", lambda r: r.share_of_limit, format_percent),
        *((_named(n), _metric(n), _written(n)) for n in metrics),
    ]
    # a column that says nothing, or the rate again, is left out
    shown = [c for i, c in enumerate(columns) if any(c[1](r) is not None for r in rows) and (i < 2 or c[0] != unit)]
    made = []
    for row in rows:
        cells: list[dict[str, Any]] = [{"text": row.contender, "value": row.contender}]
        cells.append({"text": kind_of(result, row), "value": _ORDER.index(row.kind)})
        for _, value_of, write in shown:
            value = value_of(row)
            text = "" if value is None else write(value) if write else peer_cell(result, row)
            cells.append({"text": text, "value": _LAST if value is None else value})
        made.append({"cells": cells, "best": row.contender == result.best and row.kind is Kind.VARIANT})
    heads = ["contender", "kind", *(c[0] for c in shown)]
    return {"heads": heads, "rows": made, "how": [(row.contender, row.how) for row in rows if row.how]}


def peer_cell(result: StudyVerdict, row: StudyRow) -> str:
    """A row against the best peer, with its interval; empty where there is nothing to say."""
    if row.against_peer is not None:
        return ratio_text(row.against_peer)
    return "" if (ratio := result.ratio_to_peer(row)) is None else format_factor(ratio)


def _named(metric: str) -> str:
    """A metric in words; a time needs no unit in its name."""
    return metric.removesuffix("_s").replace("_", " ")


def _written(metric: str) -> Callable[[float], str]:
    if metric.endswith("_s"):
        return format_seconds
    return format_bytes if metric.endswith("bytes") else lambda v: f"{v:.4g}"


def _metric(name: str) -> Callable[[StudyRow], float | None]:
    return lambda row: row.metrics.get(name)


def _over_time(row: StudyRow, work: float | None) -> float | None:
    return work / row.seconds * 1e-9 if work and row.seconds and row.kind is not Kind.LIMIT else None


def not_run(result: StudyVerdict) -> list[tuple[str, str, str]]:
    """The contenders that did not run, what they are, and why."""
    return [(r.contender, r.kind, r.not_run) for r in result.rows if r.not_run]


def published_rows(results: Sequence[StudyVerdict]) -> list[dict[str, str]]:
    """What was published, next to what was measured here of the same contender."""
    rows = []
    for one in results[0].published:
        here = [
            f"{format_seconds(r.seconds)}, {format_rate(r.rate)} {r.unit}"
            + (f" ({result.where})" if len(results) > 1 else "")
            for result in results
            for r in result.rows
            if r.contender == one.contender and r.seconds is not None
        ]
        rows.append({**asdict(one), "here": "; ".join(here)})
    return rows


def readme_html(text: str) -> Any:
    """A study's README as HTML, without its title, which the page has; HTML in it is shown as text."""
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    if tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        tokens = tokens[3:]
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            # below the page's own headings
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))


def line_html(text: str) -> Any:
    """A line of Markdown as HTML."""
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    return Markup(MarkdownIt("commonmark", {"html": False}).renderInline(text))
