# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a report, each one specification for the page, for SVG and for PNG."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nodewise.placement.placement import Placement
from nodewise.records.experiment import Experiment
from nodewise.report.drawings import machine as drawn
from nodewise.report.drawings.machine import machine_svg
from nodewise.report.figures import vega as alt
from nodewise.report.figures.charting import (
    ACCENT,
    WIDTH,
    chart_of,
    charts_of_any,
    finish,
    metric_title,
    metric_unit,
    named_axis,
    scale_around,
    scale_for,
)
from nodewise.report.figures.pareto import pareto_figures
from nodewise.report.figures.tune_scaling import tune_efficiency, tune_speedup
from nodewise.report.tables import in_words, labels_of, leaders, sample_rows, thread_rows
from nodewise.runner.setting import BASELINE
from nodewise.verdicts.compare import CompareVerdict
from nodewise.verdicts.confirm import Comparison, comparison_of
from nodewise.verdicts.question import machine_of
from nodewise.verdicts.stored import Stored
from nodewise.verdicts.tune import TuneVerdict

#: One colour a placement, of the palette by Okabe and Ito that colour-blind people can distinguish.
_COLOURS = {"os": "#767676", "compact": "#d55e00", "scatter": "#0072b2", "balanced": "#009e73"}
_OTHERS = ["#cc79a7", "#e69f00", "#56b4e9", "#332288", "#882255", "#44aa99", "#999933", "#000000"]
#: More lines than this cannot be distinguished; a name that is longer stands below the figure.
_MOST_LINES, _LONG = 8, 30
#: About so many numbers stand at an axis of times or ratios, however wide it is.
_TICKS = 8
_PHASES = {
    "warm-up": "#767676",
    "search": "#56b4e9",
    "reduce": "#009e73",
    "confirm": ACCENT,
    "compare": ACCENT,
    "run": ACCENT,
}
_SHAPES = {
    "warm-up": "square",
    "search": "cross",
    "reduce": "diamond",
    "confirm": "circle",
    "compare": "circle",
    "run": "circle",
}


def _rounded(value: float) -> float:
    """To more digits than a figure can show; all of them would be half of a large page."""
    return float(f"{value:.6g}")


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """What figures of single runs show of each."""
    return {k: row[k] for k in ("order", "setting", "phase", "state", "marks")}


def time_over_threads(experiment: Experiment, verdict: TuneVerdict) -> Any | None:
    """Median time over threads, a line for each placement, as in published scaling graphs; None where the best have one number of threads."""
    every = thread_rows(experiment, verdict.settings)
    if not every:
        return None
    rows = _best_lines(every, -1 if verdict.maximise else 1, verdict.candidate)
    if len({r["threads"] for r in rows}) < 2:
        return None
    lines = len({r["series"] for r in every})
    under = [f"The {_MOST_LINES} best of {lines} combinations of the other axes."] if lines > _MOST_LINES else []
    factor, unit = metric_unit(verdict.metric, min(r["median"] for r in rows))
    data = [
        {k: r[k] for k in ("series", "threads", "runs")}
        | {k: _rounded(r[k] * factor) for k in ("median", "low", "high") if r[k] is not None}
        for r in rows
    ]
    varied = {name for one in verdict.settings for name, value in one.values.items() if value != "default"}
    others = "other axes" if varied - {"threads", "placement"} else "placement"
    names = list(dict.fromkeys(r["series"] for r in data))
    spare = iter(_OTHERS * (1 + len(names) // len(_OTHERS)))
    colours = [_COLOURS.get(n) or next(spare) for n in names]
    # in the words of the tables
    names = [in_words(n) for n in names]
    data = [{**r, "series": in_words(r["series"])} for r in data]
    threads = sorted({r["threads"] for r in data})
    times = [r["median"] for r in data]
    x = alt.X(
        "threads:Q",
        title="threads",
        scale=alt.Scale(zero=False, nice=False) if _dense(threads) else scale_for(threads[0], threads[-1], 2),
        axis=alt.Axis(values=threads, labelOverlap="greedy", labelSeparation=5, format="d", grid=False, tickMinStep=1),
    )
    title = f"{metric_title(verdict.metric)} ({unit}, median and 95% interval)"
    y = alt.Y("median:Q", title=title, scale=scale_for(min(times), max(times), 10))
    # long names have no room next to the figure
    below = {"legend": alt.Legend(orient="bottom", columns=1, labelLimit=WIDTH)} if max(map(len, names)) > _LONG else {}
    colour = alt.Color("series:N", title=others, scale=alt.Scale(domain=names, range=colours), **below)
    tooltip = [
        alt.Tooltip("series:N", title=others),
        alt.Tooltip("threads:Q"),
        alt.Tooltip("median:Q", title=f"median ({unit})", format=".4g"),
        alt.Tooltip("low:Q", format=".4g"),
        alt.Tooltip("high:Q", format=".4g"),
        alt.Tooltip("runs:Q"),
    ]
    base = chart_of(data).encode(x=x, color=colour)
    layers = [
        base.mark_line(strokeWidth=2).encode(y=y, detail="series:N"),
        *[
            chart.mark_rule(strokeWidth=1.5).encode(x=x, color=colour, y=alt.Y("low:Q", title=title), y2="high:Q")
            for chart in charts_of_any([r for r in data if "low" in r])
        ],
        *[
            chart.mark_point(filled=filled, size=48, opacity=1).encode(x=x, color=colour, y=y, tooltip=tooltip)
            for filled in (True, False)
            for chart in charts_of_any([r for r in data if ("low" in r) is filled])
        ],
    ]
    under += _without_interval(data, "Hollow points: too few runs for an interval.")
    baseline = next((s.median for s in verdict.settings if s.key == BASELINE and s.median), None)
    if baseline:
        line = chart_of([{"at": baseline * factor, "text": "baseline, as started now"}])
        layers.append(line.mark_rule(strokeDash=[5, 4], color="#444").encode(y="at:Q"))
        text = line.mark_text(align="left", dx=4, dy=-6, color="#444", fontSize=11)
        layers.append(text.encode(y="at:Q", text="text:N", x=alt.value(0)))
    return finish(
        alt.layer(*layers).properties(width=WIDTH, height=320),
        f"{metric_title(verdict.metric).capitalize()} over threads",
        under,
    )


def _dense(counts: Sequence[int]) -> bool:
    """Whether most of the counts would stand in the last quarter of a logarithmic axis."""
    first, last = counts[0], counts[-1]
    return first > 0 and sum(n > first * (last / first) ** 0.75 for n in counts) > len(counts) / 2


def _without_interval(rows: Sequence[Mapping[str, Any]], said: str) -> list[str]:
    """What is said below the title where some of the rows have no interval."""
    return [said] if any("low" not in row for row in rows) else []


def _best_lines(rows: list[dict[str, Any]], sign: int, candidate: str) -> list[dict[str, Any]]:
    """The rows of the lines with the best point, that of the candidate's first, as many as can be distinguished; `sign` is -1 where more is better."""
    best: dict[str, float] = {}
    for r in rows:
        best[r["series"]] = min(sign * r["median"], best.get(r["series"], sign * r["median"]))
    # what was confirmed is seldom the best median of all: of many settings that ran once some were lucky
    confirmed = {r["series"] for r in rows if r["key"] == candidate}
    kept = set(sorted(best, key=lambda series: (series not in confirmed, best[series]))[:_MOST_LINES])
    return [r for r in rows if r["series"] in kept]


def distributions(experiment: Experiment, verdict: CompareVerdict | TuneVerdict) -> Any | None:
    """Every sample of the leaders, outliers too, with median and interval."""
    chosen = leaders(verdict)
    if not chosen:
        return None
    factor, unit = metric_unit(verdict.metric, chosen[0].median or 0.0)
    rows = sample_rows(experiment, [s.key for s in chosen])
    jitter = random.Random(0)
    points = [
        {**_shown(r), "time": _rounded(r["value"] * factor), "jitter": round(jitter.uniform(-1, 1), 3)} for r in rows
    ]
    named = labels_of(experiment)
    order = [named[s.key] for s in chosen]
    centres = [
        {
            "setting": named[s.key],
            **{k: v * factor for k in ("median", "low", "high") if (v := getattr(s, k)) is not None},
        }
        for s in chosen
    ]
    axis, height = named_axis(order, 46)
    y = alt.Y("setting:N", title=None, scale=alt.Scale(domain=order), axis=axis)
    seen = [float(p["time"]) for p in points]
    seen += [v * factor for s in chosen for v in (s.median, s.low, s.high) if v is not None]
    title = f"{metric_title(verdict.metric)} of a run ({unit})"
    x = alt.X("time:Q", title=title, scale=scale_around(min(seen), max(seen)), axis=alt.Axis(tickCount=_TICKS))
    state = alt.Color(
        "state:N", title=None, scale=alt.Scale(domain=["undisturbed", "disturbed"], range=[ACCENT, "#d55e00"])
    )
    tips = [alt.Tooltip("setting:N"), alt.Tooltip("time:Q", format=".5g"), "order:Q", "phase:N", "marks:N"]
    dots = chart_of(points).mark_point(filled=True, size=26, opacity=0.45)
    phases = [phase for phase in _PHASES if any(p["phase"] == phase for p in points)]
    # times of the search and of the comparison are minutes apart, and only the latter decide
    if len(phases) > 1:
        shapes = alt.Scale(domain=phases, range=[_SHAPES[phase] for phase in phases])
        dots = dots.encode(shape=alt.Shape("phase:N", title=None, scale=shapes))
    middle = chart_of(centres)
    chart = alt.layer(
        dots.encode(
            x=x, y=y, yOffset=alt.YOffset("jitter:Q", scale=alt.Scale(domain=[-2, 2])), color=state, tooltip=tips
        ),
        *[
            chart.mark_rule(strokeWidth=4, color="#222").encode(x="low:Q", x2="high:Q", y=y)
            for chart in charts_of_any([c for c in centres if "low" in c])
        ],
        middle.mark_tick(thickness=3, size=24, color="#222").encode(x="median:Q", y=y),
    )
    what = "Commands: every run" if isinstance(verdict, CompareVerdict) else "The leaders: every run"
    what = "Every run" if len(chosen) == 1 else what
    return finish(
        chart.properties(width=WIDTH, height=height),
        f"{what}, median and 95% interval",
        _without_interval(centres, "Without a bar: too few runs for an interval."),
    )


def order_of_runs(experiment: Experiment, verdict: CompareVerdict | TuneVerdict) -> Any | None:
    """Each run against its setting's median in the order of running: drift and disturbances show here."""
    rows = [r for r in sample_rows(experiment) if not r["alone"]]
    if not rows:
        return None
    phases = [p for p in _PHASES if any(r["phase"] == p for r in rows)]
    most = max(*(r["relative"] for r in rows), 1 / min(r["relative"] for r in rows))
    scale = alt.Scale(type="log", base=2, domain=[1 / most, most]) if most > 1.5 else alt.Scale(zero=False)
    chart = (
        chart_of([{**_shown(r), "relative": _rounded(r["relative"])} for r in rows])
        .mark_point(filled=True, size=24, opacity=0.65)
        .encode(
            x=alt.X("order:Q", title="run", axis=alt.Axis(grid=False, format="d", tickMinStep=1)),
            y=alt.Y(
                "relative:Q",
                title=f"{metric_title(verdict.metric)} over the median of its setting",
                scale=scale,
                axis=alt.Axis(format=".3~g"),
            ),
            color=alt.Color(
                "phase:N",
                scale=alt.Scale(domain=phases, range=[_PHASES[p] for p in phases]),
            ),
            shape=alt.Shape(
                "state:N",
                title=None,
                scale=alt.Scale(domain=["undisturbed", "disturbed"], range=["circle", "triangle"]),
            ),
            tooltip=["order:Q", "setting:N", alt.Tooltip("relative:Q", format=".4f"), "phase:N", "marks:N"],
        )
    )
    return finish(chart.properties(width=WIDTH, height=190), "Runs in the order in which they were made")


def axes(experiment: Experiment, verdict: TuneVerdict) -> Any | None:
    """How much of the gain each axis brought; None where there is no gain to share out."""
    del experiment
    if not any(verdict.axes.values()):
        return None
    shares = sorted(verdict.axes.items(), key=lambda item: -item[1])
    rows = [{"axis": name, "share": share} for name, share in shares]
    base = chart_of(rows).encode(
        y=alt.Y("axis:N", title=None, scale=alt.Scale(domain=[name for name, _ in shares])),
        x=alt.X("share:Q", title="share of the gain", axis=alt.Axis(format=".0%"), scale=alt.Scale(domain=[0, 1])),
    )
    bars = base.mark_bar(color=ACCENT, height=16, cornerRadiusEnd=2).encode(
        tooltip=["axis:N", alt.Tooltip("share:Q", format=".1%")]
    )
    text = base.mark_text(align="left", dx=5, color="#222").encode(text=alt.Text("share:Q", format=".0%"))
    return finish((bars + text).properties(width=WIDTH - 120, height=alt.Step(30)), "How much each axis mattered")


def ratios(experiment: Experiment, verdict: CompareVerdict) -> Any | None:
    """How many times as fast as the reference each contender is, with its interval; None for a single one."""
    labels = labels_of(experiment)
    pairs = [p for r in verdict.contenders if (p := r.against_reference) is not None and p.low is not None]
    rows = [
        {"name": labels[p.other], "verdict": p.verdict.value, "ratio": p.ratio, "low": p.low, "high": p.high}
        for p in pairs
    ]
    if not rows:
        return None
    order = [labels[p.other] for p in pairs]
    ends = [1.0, *(end for p in pairs for end in (p.ratio, p.interval.low, p.interval.high))]
    scale = scale_around(min(ends), max(ends))
    x = alt.X("ratio:Q", title="times as fast as the reference", scale=scale, axis=alt.Axis(tickCount=_TICKS))
    axis, height = named_axis(order, 34)
    y = alt.Y("name:N", title=None, scale=alt.Scale(domain=order), axis=axis)
    colour = alt.Color(
        "verdict:N",
        title=None,
        scale=alt.Scale(
            domain=["faster", "slower", "no difference", "undecided"], range=["#00734f", "#d55e00", ACCENT, "#767676"]
        ),
    )
    base = chart_of(rows).encode(y=y, color=colour)
    tips = ["name:N", *(alt.Tooltip(f"{n}:Q", format=".4f") for n in ("ratio", "low", "high")), "verdict:N"]
    one = chart_of([{"at": 1.0}]).mark_rule(strokeDash=[5, 4], color="#444").encode(x="at:Q")
    chart = alt.layer(
        one,
        base.mark_rule(strokeWidth=3).encode(x=alt.X("low:Q"), x2="high:Q"),
        base.mark_circle(size=70, opacity=1).encode(x=x, tooltip=tips),
    )
    return finish(chart.properties(width=WIDTH, height=height), "Speedup over the reference")


_Maker = Callable[[Experiment, Any], Any | None]
#: The figures by the name of their file, the main one first.
_OF_TUNE: dict[str, _Maker] = {
    "time-over-threads": time_over_threads,
    "speedup": tune_speedup,
    "efficiency": tune_efficiency,
    "distributions": distributions,
    "axes": axes,
    "order": order_of_runs,
}
_OF_COMPARISON: dict[str, _Maker] = {"distributions": distributions, "ratios": ratios, "order": order_of_runs}


def make_figures(experiment: Experiment, verdict: CompareVerdict | TuneVerdict) -> dict[str, Any]:
    """The figures that there is something to show in, by name."""
    makers = _OF_TUNE if isinstance(verdict, TuneVerdict) else _OF_COMPARISON
    found = {name: chart for name, make in makers.items() if (chart := make(experiment, verdict)) is not None}
    return found | pareto_figures(experiment, verdict)


def tune_files(stored: Stored[TuneVerdict]) -> dict[str, Any]:
    """The figures of a stored tune, and the drawing of where the best setting's threads sat."""
    experiment, verdict = stored.experiment, stored.verdict
    drawing = next(iter(placement_drawings(experiment, verdict).values()))
    return {**make_figures(experiment, verdict), "placement": drawing}


def comparison_files(stored: Stored[Comparison]) -> dict[str, Any]:
    """The figures of a stored comparison, of a single command, or of a repetition."""
    return make_figures(stored.experiment, comparison_of(stored))


def placement_drawings(experiment: Experiment, verdict: TuneVerdict, across: int = drawn.WIDTH) -> dict[str, str]:
    """Where the threads sat, as SVG, by title: the best setting, and the baseline, which binds nothing."""
    machine = machine_of(experiment)
    best = verdict.best
    if best.places is None:
        threads = f" ({best.threads} thread{'s' * (best.threads != 1)})" if best.threads else ""
        return {f"the operating system places the threads{threads}": machine_svg(machine, None, across=across)}
    threads = f"{best.threads} thread{'s' * (best.threads != 1)}"
    placement = Placement(best.placement, best.places)
    return {f"{threads}, {best.placement}": machine_svg(machine, placement, across=across)}
