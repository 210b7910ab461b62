# SPDX-License-Identifier: BSD-3-Clause
"""A study's contenders by two metrics of which more is better, with those that no other beats in both."""

from __future__ import annotations

from typing import Any

from nodewise.report.figures import vega as alt
from nodewise.report.figures.charting import ACCENT, WIDTH, chart_of, finish, state_colours
from nodewise.report.figures.pareto import axis_ticks, front_names, span_of
from nodewise.statistics.pareto import pareto_front
from nodewise.verdicts.study import Kind, StudyVerdict

_HEIGHT = 360
_FRONT, _OTHER = "no other is better in both", "another is better in both"
_COLOURS = {_FRONT: ACCENT, _OTHER: "#8b98a5"}


def pareto_chart(result: StudyVerdict) -> Any | None:
    """The figure that the study's `picture` asks for; None without one, or with fewer than two contenders to draw."""
    if result.picture is None:
        return None
    x_name, y_name = result.picture
    rows: list[dict[str, Any]] = []
    for row in result.rows:
        compared = row.kind is not Kind.LIMIT and row.seconds is not None and not row.for_scale
        if compared and {x_name, y_name} <= row.metrics.keys():
            place = {"x": row.metrics[x_name], "y": row.metrics[y_name]}
            rows.append({"key": row.contender, "name": row.contender, "kind": row.kind.value, **place})
    if len(rows) < 2:
        return None
    keys = [rows[i]["key"] for i in pareto_front([(-r["x"], -r["y"]) for r in rows])]
    for drawn in rows:
        drawn["state"] = _FRONT if drawn["key"] in keys else _OTHER
    return _drawn(rows, keys, f"{result.study}: {x_name} against {y_name}, more of both is better", x_name, y_name)


def _drawn(rows: list[dict[str, Any]], keys: list[str], title: str, x_name: str, y_name: str) -> Any:
    across, up = span_of([r["x"] for r in rows], WIDTH), span_of([r["y"] for r in rows], _HEIGHT)
    x = alt.X("x:Q", title=x_name, scale=across.scale(), axis=axis_ticks(across))
    y = alt.Y("y:Q", title=y_name, scale=up.scale(), axis=axis_ticks(up))
    colour = state_colours(rows, _COLOURS)
    tips = [
        alt.Tooltip("name:N", title="contender"),
        alt.Tooltip("kind:N"),
        alt.Tooltip("x:Q", title=x_name, format=".4g"),
        alt.Tooltip("y:Q", title=y_name, format=".4g"),
    ]
    at = {r["key"]: {"x": r["x"], "y": r["y"]} for r in rows}
    layers = [
        chart_of([at[k] for k in keys])
        .mark_line(color=ACCENT, strokeWidth=1.8, opacity=0.8)
        .encode(x=x, y=y, order="x:Q"),
        *front_names(rows, keys, across, up),
        chart_of(rows).mark_circle(size=64, opacity=1).encode(x=x, y=y, color=colour, tooltip=tips),
    ]
    return finish(alt.layer(*layers).properties(width=WIDTH, height=_HEIGHT), title)
