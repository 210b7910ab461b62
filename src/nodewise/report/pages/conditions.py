# SPDX-License-Identifier: BSD-3-Clause
"""What the pages of all experiments have in common: the machine, the conditions, what is shown of each metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.base.processors import format_processors
from nodewise.base.units import format_bytes, format_seconds
from nodewise.machine.model import Machine
from nodewise.records.experiment import Experiment
from nodewise.report.pages.template import render
from nodewise.report.tables import MOST_POINTS, condition_rows, label, leaders
from nodewise.report.text.comparison import shown_cells, shown_names
from nodewise.report.text.ranks import rank_rows, rank_sentence
from nodewise.runner.launch import quoted_line
from nodewise.runner.objective import format_metric
from nodewise.verdicts.compare import CompareVerdict, ContenderSummary
from nodewise.verdicts.ranks import ranks_of
from nodewise.verdicts.secondary import MetricSummary
from nodewise.verdicts.stored import Stored
from nodewise.verdicts.tune import SettingSummary, TuneVerdict

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
    "waited_s": ("waiting for a processor", format_seconds),
    "throttled_s": ("throttled", format_seconds),
    "energy_j": ("energy of the machine", lambda n: f"{n:.4g} J"),
    "frequency_hz": ("clock", lambda n: f"{n / 1e9:.2f} GHz"),
}


def common_values(stored: Stored[Any]) -> dict[str, Any]:
    """What every page says: the question, the machine, and how it is asked again."""
    return {
        "question": stored.question,
        "machine": stored.machine,
        "facts": machine_facts(stored.machine),
        "repeat": quoted_line(stored.question.asked),
        "folder": stored.folder,
    }


def sampled_page(
    template: str,
    stored: Stored[Any],
    verdict: CompareVerdict | TuneVerdict,
    charts: Mapping[str, Any],
    values: Mapping[str, Any],
) -> str:
    """The HTML of an experiment whose samples are stored: what its runs met, besides the `values` of its own template."""
    experiment = stored.experiment
    met: dict[str, Any] = {
        "metric": lambda value: format_metric(verdict.metric, value, verdict.currency),
        "shown": lambda metrics: sorted_cells(verdict, metrics),
        "verdict": verdict,
        "conditions": _conditions(experiment, verdict),
        "marks": _marks(experiment),
    }
    met["ranks"] = _ranks(experiment, verdict)
    return render(template, charts, {**common_values(stored), **met, **values})


def sorted_cells(verdict: CompareVerdict | TuneVerdict, metrics: Mapping[str, MetricSummary]) -> list[dict[str, Any]]:
    """Cells of the metrics that were asked for, median and MAD each, with the values by which they are sorted."""
    found = [metrics.get(name) for name in shown_names(verdict)]
    values = [v for one in found for v in ((1e300, 1e300) if one is None else (one.median, one.mad))]
    return [{"text": t, "value": v} for t, v in zip(shown_cells(verdict, metrics), values, strict=True)]


def thinning(experiment: Experiment) -> list[str]:
    """What is to be known of figures that do not show every run."""
    good = int(experiment.records.ok.sum())
    if good <= MOST_POINTS:
        return []
    return [
        f"there were {good} good runs: a figure of single runs shows an even choice of at most {MOST_POINTS}, and of those "
        "that lie more than a fifth off their setting's median up to as many again; medians and intervals are of all of "
        "them, and so is `nodewise report --csv`"
    ]


def _of(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def machine_facts(machine: Machine) -> list[tuple[str, str]]:
    """What a machine is, as names and texts."""
    p = machine.processor
    unknown = "unknown: this system does not show it"
    sockets = len({c.socket for c in machine.cores})
    facts = [
        ("machine", machine.hostname or machine.source),
        ("processor", p.model or machine.source),
        (
            "shape",
            ", ".join(
                [_of(sockets, "socket"), _of(len(machine.cores), "core"), _of(len(machine.pus), "hardware thread")]
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


def _ranks(experiment: Experiment, verdict: CompareVerdict | TuneVerdict) -> list[dict[str, Any]]:
    """A table for each of the leaders that a launcher started."""
    found = []
    for summary in leaders(verdict):
        table = ranks_of(experiment, summary.key)
        if table is not None:
            heads, rows = rank_rows(table)
            found.append({"label": _label(summary), "heads": heads, "rows": rows, "sentence": rank_sentence(table)})
    return found


def _label(summary: ContenderSummary | SettingSummary) -> str:
    return label(summary.values) if isinstance(summary, SettingSummary) else summary.key


def _marks(experiment: Experiment) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for i in experiment.records.marked.nonzero()[0]:
        for mark in experiment.records.marks(int(i)):
            kind = mark.partition(":")[0]
            counts[kind] = counts.get(kind, 0) + 1
    return sorted(counts.items(), key=lambda item: -item[1])
