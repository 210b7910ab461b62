# SPDX-License-Identifier: BSD-3-Clause
"""Trends as figures: what was measured over time, the levels that it had, and where they changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np

from nodewise.history.trend import Trend, TrendPoint, Word
from nodewise.records.commit import short_hash
from nodewise.report.figures import vega as alt
from nodewise.report.figures.charting import (
    ACCENT,
    WIDTH,
    chart_of,
    charts_of_any,
    finish,
    metric_title,
    metric_unit,
    scale_around,
)

_COLOURS = {Word.REGRESSION: "#b3400a", Word.IMPROVEMENT: "#00734f"}
#: Of more points than this an even choice is drawn.
MOST_POINTS = 2000
#: Up to so many seconds the times of an axis are written with their seconds.
_SHORT_S = 600.0


def trend_figure(trend: Trend) -> Any:
    """The chart of a trend: each experiment with its interval, and the medians between changes as lines."""
    factor, unit = metric_unit(trend.metric, trend.points[-1].median)
    points = _thinned(trend.points)
    rows = [_row(p, factor) for p in points]
    ends = [r["value"] for r in rows]
    low, high = np.percentile([e for r in rows for e in (r.get("low", r["value"]), r.get("high", r["value"]))], (2, 98))
    y = alt.Y(
        "value:Q",
        title=f"{metric_title(trend.metric)} ({unit})",
        scale=scale_around(min(*ends, low), max(*ends, high)),
    )
    # the first and the last point lie within the frame
    x = alt.X(
        "at:T", title=None, scale=alt.Scale(padding=8), axis=alt.Axis(grid=False, labelOverlap=True, **_ticks(points))
    )
    tips = ["experiment:Q", "day:N", "commit:N", alt.Tooltip("value:Q", format=".5g"), "runs:Q", "kind:N"]
    layers = [
        chart.mark_rule(strokeWidth=1.5, opacity=0.35, color=ACCENT, clip=True).encode(
            x=x, y=alt.Y("low:Q"), y2="high:Q"
        )
        for chart in charts_of_any([r for r in rows if "low" in r])
    ]
    layers.append(
        chart_of(rows).mark_point(filled=True, size=34, opacity=0.8, color=ACCENT).encode(x=x, y=y, tooltip=tips)
    )
    layers += [
        chart_of([{"at": level["at"], "to": level["to"], "value": level["value"]}])
        .mark_rule(strokeWidth=2, color="#444")
        .encode(x=x, x2="to", y=y)
        for level in _levels(trend, factor)
    ]
    for word, colour in _COLOURS.items():
        marks = [{"at": m.at, "word": word.value, "ratio": m.ratio} for m in trend.marks if m.word is word]
        layers += [
            chart.mark_rule(strokeWidth=2, strokeDash=[6, 3], color=colour).encode(
                x=x, tooltip=["word:N", alt.Tooltip("ratio:Q", format=".3f")]
            )
            for chart in charts_of_any(marks)
        ]
    return finish(
        alt.layer(*layers).properties(width=WIDTH, height=220), f"Over time on {trend.machine}", _under(trend)
    )


def _ticks(points: Sequence[TrendPoint]) -> dict[str, Any]:
    """Marks of the axis of time: within minutes they are whole seconds, each written in full, as `.500` and `:36` say nothing by themselves."""
    first, last = (datetime.fromisoformat(p.at).timestamp() for p in (points[0], points[-1]))
    if last - first > _SHORT_S:
        return {"tickCount": 6}
    step = max(1, math.ceil((last - first) / 5))
    # an interval of Vega's by seconds is one that it does not know, and nothing is drawn
    whole = range(math.ceil(first / step) * step, math.floor(last) + 1, step)
    return {"values": [1000 * second for second in whole] or [1000 * first], "format": "%H:%M:%S"}


def _under(trend: Trend) -> Sequence[str]:
    lines = ["each point is an experiment with its 95% interval, lines are medians between changes"]
    if trend.marks:
        lines.append("broken lines are changes: red a regression, green an improvement")
    return lines


def _thinned(points: Sequence[TrendPoint]) -> Sequence[TrendPoint]:
    if len(points) <= MOST_POINTS:
        return points
    return [points[i * (len(points) - 1) // (MOST_POINTS - 1)] for i in range(MOST_POINTS)]


def _row(point: TrendPoint, factor: float) -> dict[str, Any]:
    row = {
        "experiment": point.experiment,
        "at": point.at,
        "day": point.at[:16].replace("T", " "),
        "commit": short_hash(point.commit or "none") + (" with changes" if point.changed else ""),
        "value": point.median * factor,
        "runs": point.runs,
        "kind": point.kind,
    }
    ends = {"low": point.low, "high": point.high}
    return row | {k: v * factor for k, v in ends.items() if v is not None}


def _levels(trend: Trend, factor: float) -> list[dict[str, Any]]:
    """The stretches between changes, each with its median."""
    numbers = [p.experiment for p in trend.points]
    firsts = [0, *(numbers.index(m.experiment) for m in trend.marks), len(numbers)]
    made = []
    for a, b in pairwise(firsts):
        middle = float(np.median([p.median for p in trend.points[a:b]]))
        made.append({"at": trend.points[a].at, "to": trend.points[b - 1].at, "value": middle * factor})
    return made
