# SPDX-License-Identifier: BSD-3-Clause
"""Settings by two numbers: what decides against another metric, with the settings that no other beats in both."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.records.experiment import Experiment
from nodewise.report.figures import vega as alt
from nodewise.report.figures.charting import (
    ACCENT,
    WIDTH,
    chart_of,
    charts_of_any,
    finish,
    metric_title,
    metric_unit,
    state_colours,
)
from nodewise.report.tables import labels_of
from nodewise.runner.price import COST
from nodewise.runner.setting import BASELINE
from nodewise.statistics.summary import median
from nodewise.verdicts.compare import CompareVerdict, ContenderSummary
from nodewise.verdicts.secondary import ENERGY, SecondaryMetrics, energy_parts, judged_rows
from nodewise.verdicts.tune import SettingSummary, TuneVerdict

_HEIGHT = 340
_FRONT, _OTHER, _FAILED = "no other is better in both", "another is better in both", "failed in some runs"
_COLOURS = {_FRONT: ACCENT, _OTHER: "#8b98a5", _FAILED: "#c9a0a0"}
#: Up to this many settings all have their names.
_FEW = 10
#: With more settings than this only those on the front have their intervals drawn.
_MOST_INTERVALS = 40
#: A name's letters and line in pixels at the size in which it is drawn, its longest, and how near a line's points are looked at.
_LETTER, _LINE, _LONGEST, _STEP = 6.4, 13.0, 44, 8.0
#: Settings this many times as far off as the worst of the front are not drawn: they would leave no room for it.
_FAR = 4.0
#: Which digits are marked on a logarithmic axis: the first of these that make enough marks.
_DIGITS = ((1, 2, 5), (1, 2, 3, 5, 7), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9))
_FEWEST_TICKS = 4
#: A metric that is this nearly a multiple of what decides says nothing more.
_SAME = 1e-3


def pareto_figures(experiment: Experiment, verdict: CompareVerdict | TuneVerdict) -> dict[str, Any]:
    """A figure for each metric of the verdict's `pareto` that says more than the number that decides, by its file's name."""
    objectives = {o.metric: o for o in SecondaryMetrics(experiment).metrics}
    figures = {}
    for metric, front in verdict.pareto.items():
        rows = _rows(experiment, verdict, metric)
        asked = metric in verdict.shown and metric != COST
        if asked or not _same([(r["x"], r["y"]) for r in rows]):
            name = "pareto-" + re.sub(r"[^A-Za-z0-9_]+", "-", metric)
            figures[name] = _figure(experiment, verdict, metric, rows, front, objectives[metric].maximise)
    return figures


def _rows(experiment: Experiment, verdict: CompareVerdict | TuneVerdict, metric: str) -> list[dict[str, Any]]:
    """A row for each setting that reports the metric: both medians with their intervals, name, runs, and where it belongs."""
    settings: Sequence[ContenderSummary | SettingSummary]
    settings = verdict.contenders if isinstance(verdict, CompareVerdict) else verdict.settings
    labels = labels_of(experiment)
    judged = {r.key for r in judged_rows(settings, metric)}
    front = set(verdict.pareto[metric])
    rows = []
    for one in settings:
        other = one.metrics.get(metric)
        if one.median is None or other is None:
            continue
        state = _FRONT if one.key in front else _OTHER if one.key in judged else _FAILED
        row: dict[str, Any] = {"key": one.key, "name": labels[one.key], "runs": one.runs, "state": state}
        row |= {"x": one.median, "y": other.median}
        # too few runs have no intervals, and no bars
        ends = {"x_low": one.low, "x_high": one.high, "y_low": other.low, "y_high": other.high}
        rows.append(row | {k: v for k, v in ends.items() if v is not None})
    return rows


def _same(points: Sequence[tuple[float, float]]) -> bool:
    """Whether the second number is everywhere the same multiple of the first."""
    ratios = [y / x for x, y in points if x > 0]
    return not ratios or max(ratios) - min(ratios) <= _SAME * abs(max(ratios, key=abs))


@dataclass(frozen=True)
class Span:
    """An axis from `low` to `high` over `pixels`; `log`: logarithmic."""

    low: float
    high: float
    pixels: float
    log: bool

    def pixel(self, value: float) -> float:
        """Where a value lies."""
        if self.log:
            return self.pixels * math.log(value / self.low) / math.log(self.high / self.low)
        return self.pixels * (value - self.low) / (self.high - self.low)

    def value(self, pixel: float) -> float:
        """What lies at a pixel."""
        share = pixel / self.pixels
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + share * (self.high - self.low)

    def scale(self) -> alt.Definition:
        """The same for a figure."""
        domain = [self.low, self.high]
        if self.log:
            return alt.Scale(type="log", domain=domain, nice=False)
        return alt.Scale(domain=domain, nice=False, zero=False)


def span_of(values: Sequence[float], pixels: float, room: float = 24.0) -> Span:
    """The axis that holds the values, with `room` pixels on both sides; logarithmic where they are far apart."""
    low, high = min(values), max(values)
    log = low > 0 and high / low > 3
    share = room / (pixels - 2 * room)
    if log:
        factor = (high / low) ** share
        return Span(low / factor, high * factor, pixels, True)
    wide = high - low or abs(high) or 1.0
    return Span(low - share * wide, high + share * wide, pixels, False)


@dataclass(frozen=True)
class Label:
    """A name in a figure: the pixels of its anchor (y upwards) and how it hangs there."""

    text: str
    x: float
    y: float
    align: str


#: Where a name hangs from its point: pixels to the right and upwards, and which end of it is there.
_HANGS = (
    (9, 0, "left"),
    (7, 11, "left"),
    (7, -11, "left"),
    (-9, 0, "right"),
    (-7, 11, "right"),
    (-7, -11, "right"),
    (0, 15, "center"),
    (0, -15, "center"),
    (12, 24, "left"),
    (12, -24, "left"),
    (-12, -24, "right"),
)


def place_labels(
    points: Sequence[tuple[float, float, str]],
    taken: Sequence[tuple[float, float]],
    avoided: Sequence[tuple[float, float]],
    width: float,
    height: float,
) -> list[Label]:
    """Names next to their points (pixels, y upwards) so that none covers another, a point of `taken`, or the frame.

    Where there is a choice they cover few of the `avoided` points. The first points come first; one without room gets no
    name.
    """
    placed: list[tuple[float, float, float, float]] = []
    labels = []
    for x, y, text in points:
        shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]} …"
        wide = _LETTER * len(shown)
        found: list[tuple[int, tuple[float, float, float, float], Label]] = []
        for dx, dy, align in _HANGS:
            left = x + dx - {"left": 0.0, "center": wide / 2, "right": wide}[align]
            box = (left, y + dy - _LINE / 2, left + wide, y + dy + _LINE / 2)
            inside = box[0] >= 2 and box[2] <= width - 2 and box[1] >= 2 and box[3] <= height - 2
            if inside and not any(_meet(box, other) for other in placed) and not _covered(box, taken):
                found.append((_covered(box, avoided), box, Label(shown, x + dx, y + dy, align)))
        if found:
            _, box, best = min(found, key=lambda one: one[0])
            placed.append(box)
            labels.append(best)
    return labels


def _meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _covered(box: tuple[float, float, float, float], points: Sequence[tuple[float, float]]) -> int:
    """How many of the points a box covers, with a little room around it."""
    return sum(box[0] - 5 < x < box[2] + 5 and box[1] - 4 < y < box[3] + 4 for x, y in points)


def _unit(metric: str, values: Sequence[float], currency: str) -> tuple[float, str]:
    if metric == COST:
        return 1.0, currency
    factor, unit = metric_unit(metric, abs(median(values)))
    return factor, "" if unit == metric else unit


def _titled(metric: str, unit: str) -> str:
    name = {
        ENERGY: "energy",
        "energy_package_j": "energy of the sockets",
        "energy_dram_j": "energy of the memory",
    }.get(metric, metric_title(metric))
    return f"{name} ({unit})" if unit else name


def _figure(
    experiment: Experiment,
    verdict: CompareVerdict | TuneVerdict,
    metric: str,
    rows: Sequence[Mapping[str, Any]],
    front: Sequence[str],
    maximise: bool,
) -> Any:
    x_factor, x_unit = _unit(verdict.metric, [r["x"] for r in rows], verdict.currency)
    y_factor, y_unit = _unit(metric, [r["y"] for r in rows], verdict.currency)
    factors = dict.fromkeys(("x", "x_low", "x_high"), x_factor) | dict.fromkeys(("y", "y_low", "y_high"), y_factor)
    # whoever compares has chosen what to see
    near = rows if isinstance(verdict, CompareVerdict) else _near(rows, front)
    data = [{k: v * factors[k] if k in factors else v for k, v in r.items()} for r in near]
    ruled = data if len(data) <= _MOST_INTERVALS else [r for r in data if r["state"] == _FRONT]
    across = span_of([r["x"] for r in data] + [r[k] for r in ruled for k in ("x_low", "x_high") if k in r], WIDTH)
    up = span_of([r["y"] for r in data] + [r[k] for r in ruled for k in ("y_low", "y_high") if k in r], _HEIGHT)
    x_title, y_title = _titled(verdict.metric, x_unit), _titled(metric, y_unit)
    x = alt.X("x:Q", title=f"{x_title}, median and 95% interval", scale=across.scale(), axis=axis_ticks(across))
    y = alt.Y("y:Q", title=y_title, scale=up.scale(), axis=axis_ticks(up))
    colour = state_colours(data, _COLOURS)
    tips = [
        alt.Tooltip("name:N", title="setting"),
        alt.Tooltip("x:Q", title=x_title, format=".4g"),
        alt.Tooltip("y:Q", title=y_title, format=".4g"),
        alt.Tooltip("runs:Q"),
    ]
    by_key = {r["key"]: r for r in data}
    line = [{"x": by_key[k]["x"], "y": by_key[k]["y"]} for k in front]
    layers = [
        *[
            chart.mark_rule(strokeWidth=1.2, opacity=0.55).encode(x=alt.X("x_low:Q"), x2="x_high:Q", y=y, color=colour)
            for chart in charts_of_any([r for r in ruled if "x_low" in r])
        ],
        *[
            chart.mark_rule(strokeWidth=1.2, opacity=0.55).encode(y=alt.Y("y_low:Q"), y2="y_high:Q", x=x, color=colour)
            for chart in charts_of_any([r for r in ruled if "y_low" in r])
        ],
        # the baseline has a ring, below its point, which is what answers to the pointer
        chart_of([{"x": r["x"], "y": r["y"]} for r in data if r["key"] == BASELINE])
        .mark_point(size=90, stroke="#1b2430", strokeWidth=1.6, filled=False)
        .encode(x=x, y=y),
        _table([r for r in data if r["state"] != _FRONT])
        .mark_circle(size=34, opacity=0.75)
        .encode(x=x, y=y, color=colour, tooltip=tips),
        chart_of(line).mark_line(color=ACCENT, strokeWidth=1.8, opacity=0.8).encode(x=x, y=y, order="x:Q"),
        *front_names(data, front, across, up),
        chart_of([r for r in data if r["state"] == _FRONT])
        .mark_circle(size=72, opacity=1)
        .encode(x=x, y=y, color=colour, tooltip=tips),
    ]
    figure = alt.layer(*layers).properties(width=WIDTH, height=_HEIGHT)
    better = [f"{'more' if m else 'less'} is better" for m in (verdict.maximise, maximise)]
    direction = (
        f"{better[0].split()[0]} of both is better"
        if better[0] == better[1]
        else f"{better[0]} of the first, {better[1].split()[0]} of the second"
    )
    title = f"{_titled(verdict.metric, '').capitalize()} against {_titled(metric, '')}: {direction}"
    under = []
    if metric == ENERGY:
        under.append(f"The energy is that of {energy_parts(experiment)} while a run lasted, whoever used it.")
    if any(r["runs"] == 1 and r["state"] != _FAILED for r in data):
        under.append(
            "One that ran once is judged as if it were worse by the noise of the others, as it may have been lucky."
        )
    elif len(front) == 1:
        under.append(f"The medians of {by_key[front[0]]['name']} are the best in both.")
    if len(near) < len(rows):
        under.append(f"Not drawn, since they are far off: {len(rows) - len(near)} of {len(rows)} settings.")
    return finish(figure, title, under)


def _table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A chart of many rows with no more in them than it shows."""
    kept = ("name", "state", "runs")
    return chart_of(
        [{**{k: r[k] for k in kept}, "x": float(f"{r['x']:.6g}"), "y": float(f"{r['y']:.6g}")} for r in rows]
    )


def _near(rows: Sequence[Mapping[str, Any]], front: Sequence[str]) -> list[Mapping[str, Any]]:
    """The rows without those that are far off; the baseline and the front are always there."""
    kept = [r for r in rows if r["key"] in {*front, BASELINE}]
    most = {n: _FAR * max(abs(r[n]) for r in kept) for n in ("x", "y")}
    return [r for r in rows if all(abs(r[n]) <= most[n] for n in most)]


def axis_ticks(span: Span) -> alt.Definition:
    """An axis with marks at round numbers, logarithmic ones as well."""
    if not span.log:
        return alt.Axis(tickCount=6)
    powers = range(math.floor(math.log10(span.low)), math.ceil(math.log10(span.high)))
    for digits in _DIGITS:
        values = [v for p in powers for d in digits if span.low <= (v := d * 10.0**p) <= span.high]
        if len(values) >= _FEWEST_TICKS:
            break
    return alt.Axis(values=values, format="~g", labelOverlap="greedy")


def _along(one: tuple[float, float], other: tuple[float, float]) -> list[tuple[float, float]]:
    """Points of the line between two, a few pixels apart, without its ends."""
    steps = int(math.dist(one, other) / _STEP)
    shares = [i / steps for i in range(1, steps)]
    return [(one[0] + (other[0] - one[0]) * s, one[1] + (other[1] - one[1]) * s) for s in shares]


def front_names(data: Sequence[Mapping[str, Any]], front: Sequence[str], across: Span, up: Span) -> list[Any]:
    """The names of the points of the front, of the baseline, and of all where they are few, as layers."""
    where = {r["key"]: (across.pixel(r["x"]), up.pixel(r["y"])) for r in data}
    names = {r["key"]: r["name"] for r in data}
    # both ends first: they say what may be had at most
    ends = list(dict.fromkeys([*front[:1], *front[-1:], BASELINE, *front]))
    ends += [k for k in where if k not in ends] if len(where) <= _FEW else []
    wanted = [(*where[k], names[k]) for k in ends if k in where]
    taken = [where[k] for k in front]
    others = [at for k, at in where.items() if k not in set(front)]
    others += [at for one, other in pairwise(taken) for at in _along(one, other)]
    placed = place_labels(wanted, taken, others, across.pixels, up.pixels)
    return label_layers(placed, across, up)


def label_layers(placed: Sequence[Label], across: Span, up: Span) -> list[Any]:
    """Names where they were placed, on a white ground."""
    layers = []
    for align in ("left", "center", "right"):
        rows = [{"x": across.value(n.x), "y": up.value(n.y), "text": n.text} for n in placed if n.align == align]
        if not rows:
            continue
        base = chart_of(rows).encode(x="x:Q", y="y:Q", text="text:N")
        # by its style a page knows what has no room on a narrow screen
        look = {"align": align, "baseline": "middle", "fontSize": 11, "style": "point-name"}
        layers += [
            base.mark_text(**look, stroke="white", strokeWidth=4, strokeJoin="round", color="white"),
            base.mark_text(**look, color="#1b2430"),
        ]
    return layers
