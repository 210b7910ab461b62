# SPDX-License-Identifier: BSD-3-Clause
"""The page of history: each trend with its figure, its changes and its experiments."""

from __future__ import annotations

from typing import Any

from nodewise.base.units import format_percent
from nodewise.history.trend import Mark, Trend, TrendPoint, Trends, Word
from nodewise.records.commit import short_hash
from nodewise.report.figures.history import MOST_POINTS, trend_figure
from nodewise.report.pages.template import render
from nodewise.report.text.history import said_mark
from nodewise.runner.objective import format_metric

#: The latest experiments that are listed of each trend.
MOST_LISTED = 100


def history_page(trends: Trends) -> str:
    """The page's HTML."""
    return render("history.html", *trends_shown(trends))


def trends_shown(trends: Trends) -> tuple[dict[str, Any], dict[str, Any]]:
    """The figures and the values of its template."""
    charts = {f"trend-{i}": trend_figure(t) for i, t in enumerate(trends.trends) if len(t.points) > 1}
    marks = [m for t in trends.trends for m in t.marks]
    values: dict[str, Any] = {
        "question": {"kind": "history", "started_at": f"since {trends.since}" if trends.since else ""},
        "asked_for": trends.program or "all programs",
        "headline": _headline(trends),
        "sentence": _sentence(trends),
        "tone": "" if not marks or any(m.word is Word.REGRESSION for m in marks) else "faster",
        "trends": [_shown(i, t) for i, t in enumerate(trends.trends)],
        "limits": [
            f"changes of a level by more than {format_percent(trends.within)} are marked; by chance alone at most "
            f"{format_percent(trends.rate)} of trends get a mark, also where neighbours in time are alike (an autocorrelation up to 0.5)",
            "a mark says that the level changed there, not why: the program, the machine and its other users all have a part in it",
            f"of fewer than twelve experiments nothing is marked; of more than {MOST_POINTS} an even choice is drawn, and all count",
            *([f"{trends.left_out} more trends are not on this page: --all adds them"] if trends.left_out else []),
            *(f"left out, since it is damaged: {one}" for one in trends.damaged),
        ],
    }
    return charts, values


def _headline(trends: Trends) -> str:
    latest = [m for t in trends.trends for m in t.marks[-1:]]
    if not latest:
        return "No change is marked"
    if len(trends.trends) == 1:
        return said_mark(latest[0])
    slower = sum(m.word is Word.REGRESSION for m in latest)
    counts = [f"{n} slower" for n in [slower] if n] + [f"{n} faster" for n in [len(latest) - slower] if n]
    return f"Last changes: {', '.join(counts)}"


def _sentence(trends: Trends) -> str:
    # one may have a point in several
    count = len({p.experiment for t in trends.trends for p in t.points})
    machines = len({(t.host, t.processor) for t in trends.trends})
    many = "" if len(trends.trends) == 1 else f" in {len(trends.trends)} trends"
    return f"{count} experiment{'s' * (count != 1)}{many} on {machines} machine{'s' * (machines != 1)}"


def _shown(number: int, trend: Trend) -> dict[str, Any]:
    latest = trend.points[-MOST_LISTED:]
    return {
        "figure": f"trend-{number}",
        "name": trend.name,
        "about": trend.about,
        "project": trend.project,
        "machine": trend.machine,
        "processor": trend.processor if trend.host else "",
        "marks": [(m.word.value, said_mark(m), _between(m)) for m in reversed(trend.marks)],
        "rows": [_row(p, trend.metric) for p in reversed(latest)],
        "hidden": len(trend.points) - len(latest),
    }


def _between(mark: Mark) -> str:
    """Which commits a change lies between."""
    if not mark.commit or not mark.commit_before or mark.commit == mark.commit_before:
        return ""
    return f"{short_hash(mark.commit_before)}..{short_hash(mark.commit)}"


def _row(point: TrendPoint, metric: str) -> list[str]:
    ends = (point.low, point.high)
    interval = " – ".join(format_metric(metric, end) for end in ends if end is not None)
    commit = short_hash(point.commit or "") + (" with changes" if point.changed else "")
    kind = point.kind if point.tool == "nodewise" else point.tool
    began = point.at[:16].replace("T", " ")
    return [
        f"#{point.experiment}",
        began,
        commit,
        point.branch,
        kind,
        format_metric(metric, point.median),
        interval,
        str(point.runs),
    ]
