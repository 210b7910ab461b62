# SPDX-License-Identifier: BSD-3-Clause
"""Speedup over the number of threads, ranks or nodes with the ideal line, and what the law lets expect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nodewise.report.figures import vega as alt
from nodewise.report.figures.charting import ACCENT, COLOURS, WIDTH, chart_of, finish
from nodewise.statistics.scaling import Expected
from nodewise.verdicts.scale import ScalePoint, ScaleVerdict
from nodewise.verdicts.stored import Stored

_IDEAL, _BAND = "#9aa4ae", "#b9d3ee"
_MEASURED, _LAW, _PERFECT = "measured", "expected by the law, 90% of cases", "ideal"


def scale_files(stored: Stored[ScaleVerdict]) -> dict[str, Any]:
    """The figures of a stored scaling: speedup, and parallel efficiency."""
    verdict = stored.verdict
    return scale_figures(verdict.points, verdict.over, verdict.curve)


def scale_figures(
    points: Sequence[ScalePoint], over: str, curve: Sequence[tuple[int, Expected]] = ()
) -> dict[str, Any]:
    """Speedup and efficiency with the ideal lines, intervals as bars; `curve` are speedups that a law lets expect."""
    return line_figures({_MEASURED: points}, over, curve)


def line_figures(
    lines: Mapping[str, Sequence[ScalePoint]], over: str, curve: Sequence[tuple[int, Expected]] = ()
) -> dict[str, Any]:
    """As `scale_figures`, of several lines with the same base, by their names."""
    ran = {name: [p for p in points if p.speedup is not None] for name, points in lines.items()}
    if max(map(len, ran.values()), default=0) < 2:
        return {}
    base = min(p.count for points in ran.values() for p in points)
    return {
        "speedup": _figure(ran, over, [(n, e.value, e.low, e.high) for n, e in curve], False, base),
        "efficiency": _figure(
            ran, over, [(n, e.value * base / n, e.low * base / n, e.high * base / n) for n, e in curve], True, base
        ),
    }


def _figure(
    lines: Mapping[str, Sequence[ScalePoint]],
    over: str,
    curve: Sequence[tuple[int, float, float, float]],
    share: bool,
    base: int,
) -> Any:
    name = "parallel efficiency" if share else "speedup"
    last = max([p.count for points in lines.values() for p in points] + [n for n, *_ in curve])
    ticks = sorted({base * 2**k for k in range(21) if base * 2**k <= last})
    x = alt.X(
        "n:Q",
        title=over,
        scale=alt.Scale(type="log", base=2, domain=[base, last], nice=False),
        axis=alt.Axis(values=ticks, format="~g", labelOverlap="greedy"),
    )
    # speedups in doublings: the ideal one is then a straight line
    scale = alt.Scale(zero=True, nice=True) if share else alt.Scale(type="log", base=2, nice=False)
    axis = alt.Axis(format=".0%") if share else alt.Axis(format="~g", labelOverlap="greedy")
    y = alt.Y("y:Q", title=name, scale=scale, axis=axis)
    states = [*lines, _PERFECT, *([_LAW] if curve else [])]
    of_lines = [COLOURS[i % len(COLOURS)] for i in range(len(lines))] if len(lines) > 1 else [ACCENT]
    colour = alt.Color(
        "state:N",
        title=None,
        scale=alt.Scale(domain=states, range=[*of_lines, _IDEAL, *(["#e69f00"] if curve else [])]),
        legend=alt.Legend(orient="bottom", direction="vertical"),
    )
    layers = []
    if curve:
        band = chart_of([{"n": n, "y": low, "high": high} for n, _, low, high in curve])
        layers.append(band.mark_area(opacity=0.45, color=_BAND).encode(x=x, y=y, y2="high:Q"))
        line = chart_of([{"n": n, "y": value, "state": _LAW} for n, value, _, _ in curve])
        layers.append(line.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour))
    ideal = chart_of([{"n": n, "y": 1.0 if share else n / base, "state": _PERFECT} for n in (base, last)])
    layers.append(ideal.mark_line(strokeWidth=1.5, strokeDash=[5, 4]).encode(x=x, y=y, color=colour))
    rows = []
    for state, points in lines.items():
        for p in points:
            value, low, high = (
                (p.efficiency, p.efficiency_low, p.efficiency_high) if share else (p.speedup, p.low, p.high)
            )
            rows.append({"n": p.count, "y": value, "low": low or value, "high": high or value, "state": state})
    measured = chart_of(rows)
    if len(lines) > 1:
        layers.append(measured.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=colour))
    else:
        layers.append(
            chart_of([{"n": r["n"], "y": r["low"], "high": r["high"]} for r in rows])
            .mark_rule(color=ACCENT, strokeWidth=1.5)
            .encode(x=x, y=y, y2="high:Q")
        )
    tips = [
        *([alt.Tooltip("state:N", title="setting")] if len(lines) > 1 else []),
        alt.Tooltip("n:Q", title=over),
        alt.Tooltip("y:Q", title=name, format=".1%" if share else ".3f"),
        alt.Tooltip("low:Q", title="at least", format=".1%" if share else ".3f"),
        alt.Tooltip("high:Q", title="at most", format=".1%" if share else ".3f"),
    ]
    dots = measured.mark_circle(size=70, opacity=1, stroke="white", strokeWidth=1)
    layers.append(dots.encode(x=x, y=y, color=colour, tooltip=tips))
    chart = alt.layer(*layers).properties(width=WIDTH, height=320 if not share else 220)
    return finish(chart, f"{name[:1].upper()}{name[1:]} over {over}")
