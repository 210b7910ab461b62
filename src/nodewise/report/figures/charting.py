# SPDX-License-Identifier: BSD-3-Clause
"""What figures have in common: scales, units, colours and fonts."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from nodewise.report.figures import vega as alt

ACCENT = "#0b5cad"
#: One colour a line, the first of the house, the others mostly of the palette by Okabe and Ito that colour-blind people can distinguish.
COLOURS = [ACCENT, "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#332288", "#882255", "#999933", "#000000"]
#: Of a figure, in pixels.
WIDTH = 660
#: A longer title goes on in another line.
_TITLE_LETTERS = 90
#: What a name next to a figure may take up, in pixels and in letters, and the height of a line of it.
_NAME_WIDTH, _NAME_LETTERS, _LINE = 280, 40, 14


def scale_for(low: float, high: float, base: int) -> alt.Definition:
    """A scale for values from `low` to `high`: logarithmic where they are far apart."""
    return (
        alt.Scale(type="log", base=base, nice=False) if low > 0 and high / low > 6 else alt.Scale(zero=False, nice=True)
    )


def scale_around(low: float, high: float, padding: float = 0.03) -> alt.Definition:
    """A scale for values from `low` to `high` with a little room on both sides; where none is below zero it begins there at least."""
    room = padding * (high - low) or padding * abs(high) or 1.0
    return alt.Scale(domain=[low - room if low < 0 else max(0.0, low - room), high + room], zero=False, nice=False)


def metric_unit(metric: str, value: float) -> tuple[float, str]:
    """By what to multiply values of a metric around `value`, and the unit that they then have."""
    if metric == "seconds" or metric.endswith("_s"):
        scales = [(1.0, 1.0, "s"), (1e-3, 1e3, "ms"), (1e-6, 1e6, "µs"), (0.0, 1e9, "ns")]
    elif metric.endswith("bytes"):
        scales = [(2.0**e, 2.0**-e, unit) for e, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB"))] + [(0.0, 1.0, "B")]
    elif metric.endswith("_j"):
        scales = [(0.0, 1.0, "J")]
    else:
        scales = [(1e9, 1e-9, f"10⁹ {metric}"), (1e6, 1e-6, f"10⁶ {metric}"), (0.0, 1.0, metric)]
    return next((factor, unit) for limit, factor, unit in scales if value >= limit)


def metric_title(metric: str) -> str:
    """What a metric is called on an axis."""
    return {"seconds": "time", "wall_s": "wall time", "cpu_s": "processor time", "peak_bytes": "peak memory"}.get(
        metric, metric
    )


def chart_of(rows: list[dict[str, Any]]) -> Any:
    """A chart of rows of plain values, not drawn yet."""
    return alt.Chart(rows)


def charts_of_any(rows: list[dict[str, Any]]) -> list[Any]:
    """A chart of the rows, or none of no rows: a layer of nothing has no extent, and browsers complain."""
    return [chart_of(rows)] if rows else []


def named_axis(names: Sequence[str], step: int) -> tuple[alt.Definition, alt.Definition]:
    """The axis of rows with names, a long name in several lines so that none is cut, and the height of a row, at least `step`."""
    lines = {name: textwrap.wrap(name, _NAME_LETTERS) or [""] for name in names}
    # vega takes lines from an expression only
    axis = alt.Axis(labelLimit=_NAME_WIDTH, labelExpr=f"{json.dumps(lines)}[datum.label]", grid=True)
    return axis, alt.Step(max(step, _LINE * max(map(len, lines.values()), default=1) + 8))


def state_colours(rows: Sequence[Mapping[str, Any]], colours: Mapping[str, str]) -> Any:
    """The colour of each row by its `state`, with a legend of the states that there are, in the order of `colours`."""
    states = [s for s in colours if any(r["state"] == s for r in rows)]
    return alt.Color(
        "state:N",
        title=None,
        scale=alt.Scale(domain=states, range=[colours[s] for s in states]),
        legend=alt.Legend(orient="top", symbolOpacity=1),
    )


def finish(chart: Any, title: str, under: Sequence[str] = ()) -> Any:
    """A chart with its title, and lines that are said under it, in the fonts and colours that all figures have."""
    lines = textwrap.wrap(title, _TITLE_LETTERS)
    below = {"subtitle": list(under), "subtitleColor": "#5b6773"} if under else {}
    return (
        chart.properties(
            title=alt.Title(
                lines if len(lines) > 1 else title, **below, anchor="start", fontSize=14, fontWeight=600, offset=12
            )
        )
        .configure(font="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif", background="white")
        .configure_axis(
            labelFontSize=11, titleFontSize=12, titleFontWeight=400, gridColor="#eceff2", domainColor="#9aa4ae"
        )
        .configure_legend(labelFontSize=12, titleFontSize=12, labelLimit=260)
        .configure_view(stroke=None)
    )
