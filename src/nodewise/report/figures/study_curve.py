# SPDX-License-Identifier: BSD-3-Clause
"""Shares of a whole one after the other, and their sum so far, such as the variance that components explain (a scree plot)."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from nodewise.report.figures import vega as alt
from nodewise.report.figures.charting import ACCENT, WIDTH, chart_of, finish
from nodewise.verdicts.study import StudyVerdict

_EACH, _SUM = "each", "sum so far"
_COLOURS = {_EACH: ACCENT, _SUM: "#d55e00"}
_HEIGHT = 280


def curve_chart(result: StudyVerdict) -> Any | None:
    """The figure that the study's `curve` asks for; None without one, or with fewer than two values."""
    values = result.curve_values
    if result.curve is None or len(values) < 2:
        return None
    over, what = result.curve.over, result.curve.what
    each = [{"k": k, "share": v, "of": _EACH} for k, v in enumerate(values, 1)]
    sums = [{"k": k, "share": v, "of": _SUM} for k, v in enumerate(accumulate(values), 1)]
    x = alt.X("k:O", title=over, axis=alt.Axis(labelAngle=0, labelOverlap="greedy"))
    y = alt.Y("share:Q", title=what, scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(format=".0%"))
    colour = alt.Color(
        "of:N",
        title=None,
        scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())),
        legend=alt.Legend(orient="bottom", direction="horizontal"),
    )
    tips = [
        alt.Tooltip("k:O", title=over),
        alt.Tooltip("of:N", title=" "),
        alt.Tooltip("share:Q", title=what, format=".2%"),
    ]
    layers = [
        chart_of(each).mark_bar(cornerRadiusEnd=2).encode(x=x, y=y, color=colour, tooltip=tips),
        chart_of(sums).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        chart_of(sums).mark_circle(size=44, opacity=1).encode(x=x, y=y, color=colour, tooltip=tips),
    ]
    title = f"{result.study}: {what} by {over}, the first {len(values)}"
    return finish(alt.layer(*layers).properties(width=WIDTH, height=_HEIGHT), title)
