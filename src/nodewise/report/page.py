# SPDX-License-Identifier: BSD-3-Clause
"""report.html: one file with everything in it, that opens anywhere, without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.files import write_whole
from nodewise.base.processors import format_processors
from nodewise.base.units import format_bytes, format_seconds
from nodewise.machine.model import Machine
from nodewise.records.experiment import Experiment, read_experiment
from nodewise.report.comparison import shown_cells, table_rows
from nodewise.report.figures import make_figures, placement_drawings
from nodewise.report.going_on import going_on, last_budget
from nodewise.report.tables import MOST_POINTS, condition_rows, label, labels_of, leaders
from nodewise.report.template import render
from nodewise.runner.launch import quoted_line
from nodewise.runner.objective import format_metric
from nodewise.statistics.verdict import Word
from nodewise.verdicts.compare import (
    COMPARE,
    COMPARING,
    CONFIRM,
    CompareVerdict,
    compare_verdict,
    describe,
    reference_of,
)
from nodewise.verdicts.confirm import Held, confirm_verdict
from nodewise.verdicts.pair import costs_of
from nodewise.verdicts.question import machine_of, question_of, stopped_by
from nodewise.verdicts.secondary import MetricSummary
from nodewise.verdicts.tune import BASELINE, TuneVerdict, tune_verdict

#: So many commands are named over a comparison's page.
_NAMED = 5
_HELD = {
    Held.HOLDS: "holds",
    Held.SMALLER: "holds in part",
    Held.GONE: "is gone",
    Held.REVERSED: "is reversed",
    Held.UNDECIDED: "is undecided",
}
_COUNTS = {
    "user_s": ("user time", format_seconds),
    "system_s": ("system time", format_seconds),
    "peak_bytes": ("peak memory", format_bytes),
    "context_switches": ("switches", lambda n: f"{n:.0f}"),
    "involuntary_switches": ("involuntary", lambda n: f"{n:.0f}"),
    "migrations": ("migrations", lambda n: f"{n:.0f}"),
    "minor_faults": ("minor faults", lambda n: f"{n:.0f}"),
    "major_faults": ("major faults", lambda n: f"{n:.0f}"),
    "cycles": ("cycles", lambda n: f"{n:.3g}"),
    "instructions": ("instructions", lambda n: f"{n:.3g}"),
    "steal_s": ("steal", format_seconds),
    "pressure_cpu_s": ("waiting for a processor", format_seconds),
    "throttled_s": ("throttled", format_seconds),
    "energy_j": ("energy of the machine", lambda n: f"{n:.4g} J"),
    "frequency_hz": ("clock", lambda n: f"{n / 1e9:.2f} GHz"),
}


def verdict_of(experiment: Experiment) -> CompareVerdict | TuneVerdict:
    """The verdict, from the samples; what ended the experiment only its own file can say.

    Raises InputError where the experiment was cut off before its first good run.
    """
    stopped = stopped_by(experiment)
    kind = question_of(experiment).kind
    comparing = kind in COMPARING
    first = reference_of(experiment) if comparing else BASELINE
    # a comparison's warm-up decides nothing; but a promise is gone where the setting fails in it
    if not costs_of(experiment, first, COMPARE if comparing and kind != "confirm" else None):
        raise InputError(
            f"{experiment.path} holds no good run of the {first}", "nothing can be said of it; go on with --resume"
        )
    return compare_verdict(experiment, stopped) if comparing else tune_verdict(experiment, stopped)


def write_report(path: Path) -> Path:
    """Write `report.html` into an experiment's directory, from its samples. Raises InputError, StoreError."""
    experiment = read_experiment(path)
    target = path / "report.html"
    write_whole(target, page(experiment, verdict_of(experiment)))
    return target


def page(experiment: Experiment, verdict: CompareVerdict | TuneVerdict) -> str:
    """The page's HTML."""
    comparing = isinstance(verdict, CompareVerdict)
    special = (
        _of_comparison(experiment, verdict) if isinstance(verdict, CompareVerdict) else _of_tune(experiment, verdict)
    )
    question, machine = question_of(experiment), machine_of(experiment)
    values = {
        "question": question,
        "asked_for": _asked_for(question.command) if comparing else " ".join(question.command),
        "verdict": verdict,
        "machine": machine,
        "facts": machine_facts(machine),
        "conditions": _conditions(experiment, verdict),
        "marks": _marks(experiment),
        "repeat": quoted_line(question.asked),
    }
    filters = {
        "metric": lambda value: format_metric(verdict.metric, value, verdict.currency),
        "shown": lambda metrics: _shown_cells(verdict, metrics),
    }
    template = "compare.html" if comparing else "tune.html"
    return render(template, make_figures(experiment, verdict), {**values, **special}, filters)


def _asked_for(commands: Sequence[str]) -> str:
    more = len(commands) - _NAMED
    return " · ".join(commands[:_NAMED]) + (f" · and {more} more" if more > 0 else "")


def _of_tune(experiment: Experiment, verdict: TuneVerdict) -> dict[str, Any]:
    from markupsafe import Markup

    return {
        "headline": _headline(verdict),
        "looked_best": verdict.candidate
        if verdict.verdict is Word.UNDECIDED and verdict.candidate != BASELINE
        else None,
        "more": going_on(verdict, last_budget(experiment.question)),
        "best_label": label(verdict.best.values),
        "summaries": {s.key: s for s in verdict.settings},
        "labels": {key: label(s.values) for key, s in experiment.settings.items()},
        "drawings": {title: Markup(svg) for title, svg in placement_drawings(experiment, verdict).items()},
        "limits": [*_limitations(experiment, verdict), *_thinning(experiment)],
    }


def _shown_cells(verdict: CompareVerdict | TuneVerdict, metrics: Mapping[str, MetricSummary]) -> list[dict[str, Any]]:
    """Cells of the metrics that were asked for, median and MAD each, with the values by which they are sorted."""
    found = [metrics.get(name) for name in verdict.shown]
    values = [v for one in found for v in ((1e300, 1e300) if one is None else (one.median, one.mad))]
    return [{"text": t, "value": v} for t, v in zip(shown_cells(verdict, metrics), values, strict=True)]


def _of_comparison(experiment: Experiment, verdict: CompareVerdict) -> dict[str, Any]:
    labels = labels_of(experiment)
    heads, rows = table_rows(verdict, labels)
    if len(rows) == 1:
        # nothing to be faster than
        at = heads.index("speedup")
        heads, rows = (
            [h for i, h in enumerate(heads) if i != at],
            [[c for i, c in enumerate(r) if i != at] for r in rows],
        )
    made = []
    counted = any(r.work for r in verdict.contenders)
    for contender, cells in zip(verdict.contenders, rows, strict=True):
        pair, work = contender.against_reference, contender.work
        centre = (contender.median, contender.mad, contender.min, contender.runs)
        numbers = [n if n is not None else 1e300 for n in centre]
        numbers += [pair.ratio if pair else 1.0] if len(rows) > 1 else []
        if counted:
            numbers += [work.amount, work.rate, work.redundancy or 0.0] if work else [0.0, 0.0, 0.0]
        numbers += [cell["value"] for cell in _shown_cells(verdict, contender.metrics)]
        best = contender.name in verdict.fastest and len(verdict.fastest) < len(rows)
        values = [contender.name, *numbers]
        made.append({"best": best, "cells": [{"text": c, "value": v} for c, v in zip(cells, values, strict=False)]})
    others = [p for p in verdict.pairs if p.one != verdict.contenders[0].name]
    said: list[str] = []
    if verdict.kind == CONFIRM:
        repeated = confirm_verdict(experiment, verdict.stopped)
        headline, sentence = f"The promise {_HELD[repeated.verdict]}", repeated.sentence
        said = [*repeated.differences, *repeated.notes]
    else:
        headline, sentence = _comparison_headline(verdict, labels), describe(verdict, labels)
    return {
        "headline": headline,
        "sentence": sentence,
        "tone": "faster" if len(verdict.fastest) == 1 and len(rows) > 1 else "",
        "table": {"heads": heads, "rows": made},
        "pairs": [replace(p, one=labels[p.one], other=labels[p.other]) for p in verdict.pairs] if others else [],
        "limits": [*dict.fromkeys([*said, *verdict.warnings]), *_of_intervals(verdict), *_thinning(experiment)],
    }


def _thinning(experiment: Experiment) -> list[str]:
    good = int(experiment.records.ok.sum())
    if good <= MOST_POINTS:
        return []
    return [
        f"there were {good} good runs: a figure of single runs shows an even choice of at most {MOST_POINTS}, and of those "
        "that lie more than a fifth off their setting's median up to as many again; medians and intervals are of all of "
        "them, and so is `nodewise report --csv`"
    ]


def _of_intervals(verdict: CompareVerdict) -> list[str]:
    said = []
    if verdict.pairs:
        said.append(
            f"each interval is one at {verdict.level:.2%}, so that all of them, at every look that was taken, hold together "
            "at 95 %; runs are paired by block, and each block held every command once in random order"
        )
    again = f"`nodewise {verdict.kind} --resume {verdict.experiment}"
    if verdict.stopped in ("interrupted", "cut off"):
        said.append(f"it was {verdict.stopped} before its end: {again}` goes on with it")
    elif verdict.stopped == "budget":
        said.append(f"the budget ended it: {again} --budget …` goes on with it")
    return said


def _comparison_headline(verdict: CompareVerdict, labels: dict[str, str]) -> str:
    rows = [r for r in verdict.contenders if r.runs]
    if len(rows) == 2 and any(r.error for r in rows):
        return "A command failed"
    if len(rows) == 2 and (pair := rows[1].against_reference) is not None:
        ratio = pair.ratio
        return {
            Word.FASTER: f"{ratio:.2f}× faster" if ratio >= 1.095 else f"{ratio:.3f}× faster",
            Word.SLOWER: f"{1 / ratio:.2f}× slower" if ratio <= 0.91 else f"{1 / ratio:.3f}× slower",
            Word.NO_DIFFERENCE: "No difference found",
            Word.UNDECIDED: "Undecided",
        }[pair.verdict]
    if len(rows) < 2:
        return format_metric(verdict.metric, rows[0].median or 0.0, verdict.currency)
    return labels[verdict.fastest[0]] if len(verdict.fastest) == 1 else "Several may be the best"


def _headline(verdict: TuneVerdict) -> str:
    return {
        Word.FASTER: f"{verdict.ratio:.2f}× faster",
        Word.SLOWER: "No difference found",
        Word.NO_DIFFERENCE: "No difference found",
        Word.UNDECIDED: "Undecided",
    }[verdict.verdict]


def _of(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def machine_facts(machine: Machine) -> list[tuple[str, str]]:
    """What a machine is, as names and texts."""
    p = machine.processor
    unknown = "unknown: this system does not show it"
    packages = len({c.package for c in machine.cores})
    facts = [
        ("machine", machine.hostname or machine.source),
        ("processor", p.model or machine.source),
        (
            "shape",
            ", ".join(
                [_of(packages, "socket"), _of(len(machine.cores), "core"), _of(len(machine.pus), "hardware thread")]
            ),
        ),
        ("allowed", f"processors {format_processors(machine.allowed)} ({len(machine.allowed)} of {len(machine.pus)})"),
    ]
    if machine.limits.cpu_quota is not None:
        facts.append(("quota", f"{machine.limits.cpu_quota:g} processors"))
    if machine.memory_bytes:
        facts.append(("memory", f"{format_bytes(machine.memory_bytes)} in {_of(len(machine.numa_nodes), 'node')}"))
    if machine.live or machine.kernel:
        clock = f"{p.frequency_hz / 1e9:.2f} GHz" if p.frequency_hz else unknown
        facts += [("kernel", machine.kernel), ("clock", clock), ("governor", p.governor or unknown)]
        facts.append(("huge pages", f"transparent: {machine.transparent_huge_pages or unknown}"))
        facts.append(("hypervisor", machine.hypervisor or "none seen"))
    return facts


def _conditions(experiment: Experiment, verdict: CompareVerdict | TuneVerdict) -> dict[str, Any]:
    names, rows = condition_rows(experiment, [s.key for s in leaders(verdict)])
    shown = [n for n in _COUNTS if n in names]
    cells = [
        [r["label"], str(r["runs"]), str(r["marked"]), *(_COUNTS[n][1](r[n]) if n in r else "" for n in shown)]
        for r in rows
    ]
    return {"heads": ["setting", "runs", "disturbed", *(_COUNTS[n][0] for n in shown)], "rows": cells}


def _marks(experiment: Experiment) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for i in experiment.records.marked.nonzero()[0]:
        for mark in experiment.records.marks(int(i)):
            kind = mark.partition(":")[0]
            counts[kind] = counts.get(kind, 0) + 1
    return sorted(counts.items(), key=lambda item: -item[1])


def _limitations(experiment: Experiment, verdict: TuneVerdict) -> list[str]:
    said = list(verdict.notes)
    if verdict.low is None and verdict.reason:
        said.append(f"there is no interval, since {verdict.reason}; the ratio is a guess")
    if verdict.stopped in ("interrupted", "cut off"):
        said.append(f"the experiment was {verdict.stopped} before its end: this is the best so far")
    if experiment.plan is not None:
        looks = len(experiment.plan.looks)
        said.append(
            f"the interval comes from fresh runs after the search, paired by block; up to {looks} looks at it were "
            "planned, and it holds for all of them together at 95 %"
        )
    said.append("times of the search compare settings roughly; only the confirmed pair has the promised error rate")
    return said
