# SPDX-License-Identifier: BSD-3-Clause
"""The page of a study: its contenders in a table and a picture, what was published, what it is, and on which machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nodewise.base.units import format_bytes, format_percent, format_seconds
from nodewise.machine.model import machine_from_json
from nodewise.report.page import machine_facts
from nodewise.report.study_figures import binding_limit, kind_of, point_text, study_figures
from nodewise.report.template import render
from nodewise.runner.launch import quoted_line

#: What a cell is sorted by that has no number.
_LAST = 1e300
_ORDER = ("variant", "peer", "limit")
_Row = Mapping[str, Any]
#: Its head, what it shows of a row, and how that is written (None: the ratio with its interval).
_Column = tuple[str, Callable[[_Row], float | None], Callable[[float], str] | None]


def study_page(record: Mapping[str, Any], folder: Path) -> str:
    """The page's HTML."""
    results = record["results"]
    first = results[0]
    knobs = " ".join(f"{k}={v}" for k, v in first["point"].items()) if len(results) == 1 else ""
    values = {
        "question": record,
        "asked_for": f"{first['study']} {knobs}".strip(),
        "title": first["title"],
        "headline": headline(results),
        "sentence": _sentence(results),
        "tone": "faster" if _surely_faster(results) else "",
        "runs": [
            {
                "heading": point_text(r),
                "table": table_of(r),
                "not_run": not_run(r),
                "told": r.get("told"),
                "front": f"front-{i}",
            }
            for i, r in enumerate(results, 1)
        ],
        "published": published_rows(results),
        "readme": readme_html(record.get("readme", "")),
        "facts": machine_facts(machine_from_json(record["machine"])),
        "repeat": quoted_line(record.get("asked") or []),
        "folder": folder,
    }
    return render("study.html", study_figures(results), values, {"line": line_html})


def _best(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    variants = [r for r in result["rows"] if r["kind"] == "variant" and r["seconds"] is not None and not r["for_scale"]]
    return min(variants, key=lambda r: float(r["seconds"]), default=None)


def _gain(result: Mapping[str, Any]) -> float | None:
    best = _best(result)
    return best["ratio_to_best_peer"] if best else None


def _surely_faster(results: Sequence[Mapping[str, Any]]) -> bool:
    best = _best(_best_run(results))
    return best is not None and best["verdict"] == "faster"


def _best_run(results: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The run whose best variant is furthest ahead of its peers."""
    return max(results, key=lambda r: _gain(r) or 0.0)


def _span(row: Mapping[str, Any]) -> str:
    ratio, low, high = row["ratio_to_best_peer"], row["low"], row["high"]
    if ratio is None:
        return ""
    return f"{ratio:.2f}× ({low:.2f}–{high:.2f})" if low is not None and high is not None else f"{ratio:.2f}×"


def headline(results: Sequence[Mapping[str, Any]]) -> str:
    """What came out, in one line: against the best peer where there is one, else the rate."""
    result = _best_run(results)
    best = _best(result)
    if best is None:
        return "No variant could run"
    if best["ratio_to_best_peer"] is not None:
        if best["verdict"] in ("faster", "slower"):
            return f"{best['ratio_to_best_peer']:.2f}× the best peer"
        return "No difference from the best peer" if best["verdict"] == "no difference" else "Undecided"
    return f"{best['rate']:.4g} {best['unit']}"


def _sentence(results: Sequence[Mapping[str, Any]]) -> str:
    result = _best_run(results)
    best = _best(result)
    if best is None:
        return "the table says why"
    parts = [f"best variant {best['contender']}: {best['rate']:.4g} {best['unit']}"]
    if best["ratio_to_best_peer"] is not None:
        why = f", undecided: {best['reason']}" if best["verdict"] == "undecided" else ""
        parts.append(f"{_span(best)} against {best['best_peer']}{why}")
    if best.get("ratio_to_plain") and best["contender"] != result["plain_variant"]:
        parts.append(f"{best['ratio_to_plain'][0]:.2f}× against {result['plain_variant']}")
    limit = binding_limit(result)
    if best.get("share_of_limit") is not None and limit:
        parts.append(f"{format_percent(best['share_of_limit'])} of the limit ({limit['contender']})")
    if len(results) > 1:
        parts.append(point_text(result))
    blocks = sum(r["blocks"] for r in results)
    spent = format_seconds(sum(r["seconds_spent"] for r in results))
    return " · ".join([*parts, f"{blocks} blocks in {spent}"])


def table_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """The rows as heads and cells, each with its text and the value that it is sorted by."""
    rows = [r for r in result["rows"] if r["seconds"] is not None]
    unit = result["rows"][0]["unit"] if result["rows"] else ""
    metrics = list(dict.fromkeys(n for r in rows for n in r.get("metrics") or {}))
    columns: list[_Column] = [
        ("time", lambda r: r["seconds"], format_seconds),
        (unit, lambda r: r["rate"], lambda v: f"{v:.4g}"),
        ("GFLOP/s", lambda r: _over_time(r, "flops"), lambda v: f"{v:.4g}"),
        ("GB/s", lambda r: _over_time(r, "bytes"), lambda v: f"{v:.4g}"),
        ("to best peer", lambda r: r["ratio_to_best_peer"] if r["kind"] != "limit" else None, None),
        ("to plain", _over_plain, lambda v: f"{v:.2f}×"),
        ("of limit", lambda r: r["share_of_limit"], format_percent),
        *((n, _metric(n), _written(n)) for n in metrics),
    ]
    # a column that says nothing, or the rate again, is left out
    shown = [c for i, c in enumerate(columns) if any(c[1](r) is not None for r in rows) and (i < 2 or c[0] != unit)]
    best = _best(result)
    made = []
    for row in rows:
        cells = [{"text": row["contender"], "value": row["contender"]}]
        cells.append({"text": kind_of(result, row), "value": _ORDER.index(row["kind"])})
        for _, value_of, write in shown:
            value = value_of(row)
            text = "" if value is None else write(value) if write else _span(row)
            cells.append({"text": text, "value": _LAST if value is None else value})
        made.append({"cells": cells, "best": row is best})
    return {"heads": ["contender", "kind", *(c[0] for c in shown)], "rows": made}


def _over_plain(row: _Row) -> float | None:
    return row["ratio_to_plain"][0] if row.get("ratio_to_plain") and row["kind"] != "limit" else None


def _written(metric: str) -> Callable[[float], str]:
    return format_bytes if metric.endswith("bytes") else lambda v: f"{v:.4g}"


def _metric(name: str) -> Callable[[_Row], float | None]:
    return lambda row: (row.get("metrics") or {}).get(name)


def _over_time(row: Mapping[str, Any], what: str) -> float | None:
    work = row.get(what)
    return work / row["seconds"] * 1e-9 if work and row["kind"] != "limit" else None


def not_run(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The contenders that did not run, what they are, and why."""
    return [(r["contender"], r["kind"], r["not_run"]) for r in result["rows"] if r["not_run"]]


def published_rows(results: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """What was published, beside what was measured here of the same contender."""
    rows = []
    for one in results[0].get("published") or ():
        name = one["contender"]
        here = [
            f"{format_seconds(r['seconds'])}, {r['rate']:.4g} {r['unit']}"
            + (f" ({point_text(result)})" if len(results) > 1 else "")
            for result in results
            for r in result["rows"]
            if r["contender"] == name and r["seconds"] is not None
        ]
        rows.append({**one, "here": "; ".join(here)})
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
