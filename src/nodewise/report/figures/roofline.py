# SPDX-License-Identifier: BSD-3-Clause
"""The roofline as a picture: operations a second over operations for each byte, both logarithmic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nodewise.base.units import format_percent
from nodewise.report.drawings.lettering import text_width
from nodewise.report.figures import vega as alt
from nodewise.report.figures.charting import ACCENT, chart_of, finish
from nodewise.report.figures.pareto import Span, label_layers, place_labels
from nodewise.verdicts.roofline import Kernel, Role, Roof, RoofKind, RooflineVerdict
from nodewise.verdicts.stored import Stored

_WIDTH, _HEIGHT = 820, 520
_FONT = 11
_BEST, _PLAIN, _ROOF, _COMPUTE = ACCENT, "#e69f00", "#5b6773", "#00734f"
_STATES = {Role.BEST: "the study's best variant", Role.PLAIN: "its plain variant"}
_COLOURS = {Role.BEST: _BEST, Role.PLAIN: _PLAIN}
#: How near a line's points are looked at when names are placed, in pixels.
_STEP = 6.0
_GIGA = 1e-9
Point = tuple[float, float]


class Roofline:
    """Where everything is in the picture."""

    def __init__(self, result: RooflineVerdict) -> None:
        self.slopes = sorted((r for r in result.roofs if r.kind is RoofKind.BANDWIDTH), key=lambda r: -r.rate)
        self.peaks = sorted((r for r in result.roofs if r.kind is RoofKind.FLOPS), key=lambda r: -r.rate)
        self.kernels = list(result.kernels)
        top = self.peaks[0].rate
        inner = [k.intensity for k in self.kernels if k.intensity]
        ridges = [top / w.rate for w in self.slopes] or [1.0]
        rates = [k.rate for k in self.kernels]
        left = min([*inner, min(ridges)]) / 4
        right = max([*inner, max(ridges)]) * 5
        slowest = min((w.rate for w in self.slopes), default=top)
        bottom = min([*rates, *(p.rate for p in self.peaks), left * slowest * 2]) / 2.5
        self.across = Span(_power(left, down=True), _power(right), _WIDTH, True)
        self.up = Span(max(bottom, top * 1e-7) * _GIGA, top * _GIGA * 2.2, _HEIGHT, True)
        # a kernel that moves no bytes stands at the right end
        self._edge = self.across.value(_WIDTH - 10)

    def at(self, kernel: Kernel) -> Point:
        """A kernel's intensity and rate."""
        return kernel.intensity or self._edge, max(kernel.rate * _GIGA, self.up.low)

    def line(self, roof: Roof) -> tuple[Point, Point]:
        """The ends of a roof: a bandwidth's slopes, a peak's is level."""
        return self.slope(roof) if roof.kind is RoofKind.BANDWIDTH else self.flat(roof)

    def slope(self, roof: Roof) -> tuple[Point, Point]:
        """The ends of a bandwidth's roof: from the left or lower edge up to the highest peak."""
        rate, top = roof.rate * _GIGA, self.peaks[0].rate * _GIGA
        begin = max(self.across.low, self.up.low / rate)
        return (begin, begin * rate), (top / rate, top)

    def flat(self, peak: Roof) -> tuple[Point, Point]:
        """The ends of a peak's roof: from the fastest bandwidth's to the right edge."""
        rate = peak.rate * _GIGA
        begin = rate / (self.slopes[0].rate * _GIGA) if self.slopes else self.across.low
        return (max(self.across.low, begin), rate), (self.across.high, rate)

    def pixels(self, point: Point) -> Point:
        """Where a point lies."""
        return self.across.pixel(point[0]), self.up.pixel(point[1])

    @property
    def angle(self) -> float:
        """How steep a bandwidth's roof is drawn, in degrees."""
        wide = self.across.pixels / math.log(self.across.high / self.across.low)
        high = self.up.pixels / math.log(self.up.high / self.up.low)
        return math.degrees(math.atan2(high, wide))


def _power(value: float, down: bool = False) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    base = 10.0 ** math.floor(math.log10(value))
    steps = [base * s for s in (1, 2, 5, 10)]
    return max(s for s in steps if s <= value * 1.0001) if down else min(s for s in steps if s >= value * 0.9999)


def roofline_files(stored: Stored[RooflineVerdict]) -> dict[str, Any]:
    """The one figure of a stored roofline."""
    return {"roofline": roofline_figure(stored.verdict)}


def roofline_figure(result: RooflineVerdict) -> Any:
    """The roofs with their names, and a point for each kernel; the name of one that has no room is in the table only."""
    plan = Roofline(result)
    names, covered = _roof_names(plan)
    x = alt.X(
        "x:Q",
        title="floating-point operations for each byte moved",
        scale=plan.across.scale(),
        axis=alt.Axis(values=_ticks(plan.across), format="~g", labelOverlap="greedy"),
    )
    y = alt.Y(
        "y:Q",
        title="GFLOP/s",
        scale=plan.up.scale(),
        axis=alt.Axis(values=_ticks(plan.up), format="~g", labelOverlap="greedy"),
    )
    layers = [*_roofs(plan, x, y), *names, *_points(plan, x, y), *_kernel_names(plan, covered)]
    threads = f"{result.threads} thread{'s' * (result.threads != 1)}"
    under = [
        "Roofs are measured: bandwidths slope, peaks are level. A line joins a study's plain variant and its best."
    ]
    chart = alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)
    return finish(chart, f"Roofline of this machine, {threads}", under)


def _ticks(span: Span) -> list[float]:
    powers = range(math.floor(math.log10(span.low)), math.ceil(math.log10(span.high)) + 1)
    digits = (1,) if len(powers) > 6 else (1, 2, 5)
    return [v for p in powers for d in digits if span.low <= (v := float(f"{d}e{p}")) <= span.high]


def _roofs(plan: Roofline, x: alt.Definition, y: alt.Definition) -> list[Any]:
    layers = []
    for roof in [*plan.slopes, *plan.peaks]:
        colour = _ROOF if roof.kind is RoofKind.BANDWIDTH else _COMPUTE
        line = chart_of([{"x": a, "y": b} for a, b in plan.line(roof)]).mark_line(
            color=colour, strokeWidth=2, clip=True
        )
        layers.append(line.encode(x=x, y=y))
    return layers


def _roof_names(plan: Roofline) -> tuple[list[Any], list[Point]]:
    """The roofs' names along their lines, and points that these cover, in pixels."""
    layers: list[Any] = []
    covered: list[Point] = []
    begun: list[float] = []
    turn = math.radians(plan.angle)
    for roof in plan.slopes:
        text = f"{roof.name}: {roof.rate * _GIGA:.4g} GB/s"
        (left, low), _ = plan.slope(roof)
        start = plan.pixels((left, low))
        # next to the one before where the two are near
        along = 14.0 + text_width(text, _FONT) * sum(abs(other - (start[1] - start[0])) < 18 for other in begun)
        begun.append(start[1] - start[0])
        at = (
            start[0] + along * math.cos(turn) - 6 * math.sin(turn),
            start[1] + along * math.sin(turn) + 6 * math.cos(turn),
        )
        layers.append(_name(plan, text, at, {"align": "left", "angle": 360 - plan.angle, "color": _ROOF}))
        long = text_width(text, _FONT)
        covered += [(at[0] + s * math.cos(turn), at[1] + s * math.sin(turn)) for s in _steps(long)]
    for peak in plan.peaks:
        text = f"{peak.name}: {peak.rate * _GIGA:.4g} GFLOP/s"
        _, (_, height) = plan.flat(peak)
        at = (plan.across.pixels - 6, plan.up.pixel(height) + 8)
        layers.append(_name(plan, text, at, {"align": "right", "color": _COMPUTE}))
        covered += [(at[0] - s, at[1]) for s in _steps(text_width(text, _FONT))]
    return layers, covered


def _steps(length: float) -> list[float]:
    return [i * _STEP for i in range(int(length / _STEP) + 1)]


def _name(plan: Roofline, text: str, at: Point, look: Mapping[str, Any]) -> Any:
    row = [{"x": plan.across.value(at[0]), "y": plan.up.value(at[1]), "text": text}]
    mark = chart_of(row).mark_text(baseline="middle", fontSize=_FONT, fontWeight=600, **look)
    return mark.encode(x="x:Q", y="y:Q", text="text:N")


def _points(plan: Roofline, x: alt.Definition, y: alt.Definition) -> list[Any]:
    rows = []
    for kernel in plan.kernels:
        across, up = plan.at(kernel)
        share = kernel.bound.share
        rows.append(
            {
                "x": across,
                "y": up,
                "name": f"{kernel.study} {kernel.contender}",
                "role": _STATES[kernel.role],
                "share": f"{format_percent(share)} of {kernel.bound.name}" if share is not None else "",
                "study": kernel.study,
            }
        )
    roles = [r for r in _STATES.values() if any(row["role"] == r for row in rows)]
    colour = alt.Color(
        "role:N",
        title=None,
        scale=alt.Scale(domain=roles, range=[_COLOURS[k] for k, v in _STATES.items() if v in roles]),
        legend=alt.Legend(orient="bottom", direction="horizontal"),
    )
    tips = [
        alt.Tooltip("name:N", title="kernel"),
        alt.Tooltip("x:Q", title="flop/byte", format=".4g"),
        alt.Tooltip("y:Q", title="GFLOP/s", format=".4g"),
        alt.Tooltip("share:N", title="reaches"),
    ]
    base = chart_of(rows)
    # a study with both variants is joined, best to plain
    pairs = [r for r in rows if sum(other["study"] == r["study"] for other in rows) > 1]
    join = chart_of(pairs).mark_line(strokeWidth=1.5, color="#b9c3cd").encode(x=x, y=y, detail=alt.Detail("study:N"))
    dots = base.mark_circle(size=80, opacity=1, stroke="white", strokeWidth=1)
    return [*([join] if pairs else []), dots.encode(x=x, y=y, color=colour, tooltip=tips)] if rows else []


def _kernel_names(plan: Roofline, covered: Sequence[Point]) -> list[Any]:
    order = sorted(plan.kernels, key=lambda k: k.role is not Role.BEST)
    where = [plan.pixels(plan.at(k)) for k in order]
    wanted = [(*at, f"{k.study} {k.contender}") for at, k in zip(where, order, strict=True)]
    lines = [p for r in [*plan.slopes, *plan.peaks] for p in _along(*map(plan.pixels, plan.line(r)))]
    placed = place_labels(wanted, [*where, *covered], lines, _WIDTH, _HEIGHT)
    return label_layers(placed, plan.across, plan.up)


def _along(one: Point, other: Point) -> list[Point]:
    steps = max(1, int(math.dist(one, other) / _STEP))
    return [(one[0] + (other[0] - one[0]) * i / steps, one[1] + (other[1] - one[1]) * i / steps) for i in range(steps)]
