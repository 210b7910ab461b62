# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a study's page: its contenders' rates with the limit, and their curves over what was varied."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from nodewise.report.drawings.lettering import text_width
from nodewise.report.figures import vega as alt
from nodewise.report.figures.charting import ACCENT, COLOURS, WIDTH, chart_of, finish, scale_for
from nodewise.report.figures.study_curve import curve_chart
from nodewise.report.figures.study_pareto import pareto_chart
from nodewise.verdicts.stored import Stored
from nodewise.verdicts.study import Kind, StudyRow, StudyVerdict, peer_text

#: Of the palette by Okabe and Ito, which colour-blind people can distinguish.
_PLAIN, _PEER, _LIMIT, _INK, _ASIDE = "#56b4e9", "#d55e00", "#00734f", "#1b2430", "#8b98a5"
_FOR_SCALE = "for scale"
_KINDS = {"variant": ACCENT, "plain variant": _PLAIN, "peer": _PEER, _FOR_SCALE: _ASIDE}
_FONT = 11
#: A title names no more knobs.
MOST_KNOBS = 4
_BAND = 30
#: A row above the bars, where the limit's name stands.
_ABOVE = " "


def kind_of(result: StudyVerdict, row: StudyRow) -> str:
    """What a row is, for its reader."""
    if row.for_scale:
        return _FOR_SCALE
    return "plain variant" if row.kind is Kind.VARIANT and row.contender == result.plain_variant else row.kind.value


def _ran(result: StudyVerdict) -> list[tuple[float, StudyRow]]:
    """The rows that have a rate, with it."""
    return [(r.rate, r) for r in result.rows if r.rate and r.not_run is None]


def study_figures(results: Sequence[StudyVerdict]) -> dict[str, Any]:
    """The figures that there is something to show in, by the name of their file, the main one first."""
    curve = curves(results)
    figures = {"curves": curve} if curve is not None else {}
    shared = set(results[0].point.items()).intersection(*(r.point.items() for r in results[1:])) if results[1:] else ()
    for number, result in enumerate(results):
        made = {
            f"rates-{number + 1}": rates(result, {name for name, _ in shared}),
            f"pareto-{number + 1}": pareto_chart(result),
            f"curve-{number + 1}": curve_chart(result),
        }
        figures |= {name: chart for name, chart in made.items() if chart is not None}
    return figures


def study_files(stored: Stored[StudyVerdict]) -> dict[str, Any]:
    """The figures of a stored study."""
    return study_figures(stored.verdicts)


def rates(result: StudyVerdict, shared: Collection[str] = ()) -> Any | None:
    """A bar for each contender that ran, with the interval of its rate; the limit is a line. None without any.

    Of many knobs those that are not `shared` with other runs are named, and the first ones.
    """
    rows = sorted(((rate, r) for rate, r in _ran(result) if r.kind is not Kind.LIMIT), key=lambda one: -one[0])
    if not rows:
        return None
    limit, unit = result.binding_limit, rows[0][1].unit
    data = [_bar(result, r, rate) for rate, r in rows]
    most = max(r["end"] / (1 - (text_width(r["text"], _FONT) + 16) / WIDTH) for r in data)
    most = max(most, limit.rate * 1.04 if limit and limit.rate else 0.0)
    names = [r["contender"] for r in data]
    above = [_ABOVE] if limit else []
    y = alt.Y(
        "contender:N",
        title=None,
        scale=alt.Scale(domain=[*above, *names]),
        axis=alt.Axis(labelLimit=240, ticks=False, labelFontSize=12),
    )
    title = f"{unit}, median and 95% interval" if any(r["low"] is not None for r in data) else unit
    x = alt.X("rate:Q", title=title, scale=alt.Scale(domain=[0, most], nice=False), axis=alt.Axis(tickCount=7))
    kinds = [k for k in _KINDS if any(r["kind"] == k for r in data)]
    colour = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=kinds, range=[_KINDS[k] for k in kinds]),
        legend=alt.Legend(orient="bottom", direction="horizontal"),
    )
    tips = ["contender:N", "kind:N", alt.Tooltip("rate:Q", title=unit, format=".4g"), alt.Tooltip("text:N", title=" ")]
    base = chart_of(data).encode(y=y)
    layers = [base.mark_bar(height=17, cornerRadiusEnd=2).encode(x=x, color=colour, tooltip=tips)]
    known = [r for r in data if r["low"] is not None]
    if known:
        layers.append(chart_of(known).mark_rule(strokeWidth=2, color=_INK).encode(y=y, x=alt.X("low:Q"), x2="high:Q"))
    layers += _limit_line(limit, limit.rate, most, y) if limit and limit.rate else []
    label = {"align": "left", "dx": 7, "fontSize": _FONT}
    named = base.encode(x=alt.X("end:Q"), text="text:N")
    # on a white ground, where the limit's line runs through it
    layers.append(named.mark_text(**label, stroke="white", strokeWidth=4, strokeJoin="round", color="white"))
    layers.append(named.mark_text(**label, color=_INK))
    chart = alt.layer(*layers).properties(width=WIDTH, height=alt.Step(_BAND))
    return finish(chart, f"{result.study}: {_where(result, shared)}")


def _where(result: StudyVerdict, shared: Collection[str]) -> str:
    """Knobs and threads in words, as many as a title bears."""
    if len(result.point) <= MOST_KNOBS:
        return result.where
    first = sorted(result.point, key=lambda name: name in shared)[:MOST_KNOBS]
    named = replace(result, point={name: result.point[name] for name in first}).where
    return f"{named}, and {len(result.point) - MOST_KNOBS} more knobs"


def _bar(result: StudyVerdict, row: StudyRow, rate: float) -> dict[str, Any]:
    against_peer = (
        f" · {peer_text(row.against_peer)}" if row.against_peer is not None and row.kind is not Kind.PEER else ""
    )
    made = {"contender": row.contender, "kind": kind_of(result, row), "rate": rate, "text": f"{rate:.4g}{against_peer}"}
    return {**made, "low": row.rate_low, "high": row.rate_high, "end": max(rate, row.rate_high or 0.0)}


def _limit_line(limit: StudyRow, rate: float, most: float, y: alt.Definition) -> list[Any]:
    text = f"limit: {limit.contender}, {rate:.4g} {limit.unit}"
    # its name stands on the side where there is room
    right = rate / most * WIDTH + text_width(text, _FONT) + 8 > WIDTH
    line = chart_of([{"at": rate, "text": text, "contender": _ABOVE}])
    hang = {"align": "right", "dx": -6} if right else {"align": "left", "dx": 6}
    return [
        line.mark_rule(strokeWidth=2, strokeDash=[6, 3], color=_LIMIT).encode(x=alt.X("at:Q")),
        line.mark_text(**hang, color=_LIMIT, fontSize=_FONT, fontWeight=600).encode(
            x=alt.X("at:Q"), y=y, text="text:N"
        ),
    ]


def _varied(results: Sequence[StudyVerdict]) -> str | None:
    """The one thing that differs between several runs: a knob's name, or `threads`; None where it is not one number."""
    points = [_point(r) for r in results]
    differing = [n for n in {n for p in points for n in p} if len({p.get(n) for p in points}) > 1]
    if len(differing) != 1 or not all(p.get(differing[0], "").isdigit() for p in points):
        return None
    return differing[0]


def _point(result: StudyVerdict) -> dict[str, str]:
    return {**result.point, "threads": str(result.threads)}


def curves(results: Sequence[StudyVerdict]) -> Any | None:
    """Each contender's rate over what was varied; None for one run, or where more than one thing differs."""
    name = _varied(results) if len(results) > 1 else None
    if name is None:
        return None
    rows: list[dict[str, Any]] = [
        {
            "x": int(_point(r)[name]),
            "contender": row.contender,
            "rate": rate,
            "kind": "limit" if row.kind is Kind.LIMIT else "contender",
        }
        for r in results
        for rate, row in _ran(r)
    ]
    if not rows:
        return None
    names = list(dict.fromkeys(r["contender"] for r in sorted(rows, key=lambda r: -r["rate"])))
    places = sorted({r["x"] for r in rows})
    unit = next(row.unit for r in results for _, row in _ran(r))
    x = alt.X("x:Q", title=name, scale=scale_for(places[0], places[-1], 2), axis=alt.Axis(grid=False, format="~s"))
    heights = [r["rate"] for r in rows]
    y = alt.Y("rate:Q", title=unit, scale=scale_for(min(heights), max(heights), 10))
    colours = (COLOURS * (1 + len(names) // len(COLOURS)))[: len(names)]
    colour = alt.Color("contender:N", title=None, scale=alt.Scale(domain=names, range=colours))
    tips = ["contender:N", alt.Tooltip("x:Q", title=name), alt.Tooltip("rate:Q", title=unit, format=".4g")]
    layers = []
    for kind, look in (("contender", {}), ("limit", {"strokeDash": [6, 3]})):
        base = chart_of([r for r in rows if r["kind"] == kind])
        layers.append(base.mark_line(strokeWidth=2, **look).encode(x=x, y=y, color=colour))
        layers.append(base.mark_circle(size=44, opacity=1).encode(x=x, y=y, color=colour, tooltip=tips))
    chart = alt.layer(*layers).properties(width=WIDTH, height=340)
    return finish(chart, f"{results[0].study}: the rate over {name}")
