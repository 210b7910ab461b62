# SPDX-License-Identifier: BSD-3-Clause
"""An experiment as rows of plain values, for figures, pages and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from nodewise.api.experiment import Experiment
from nodewise.machine.model import Machine, machine_from_json
from nodewise.placement.policies import POLICIES, place
from nodewise.runner.setting import Setting
from nodewise.statistics.summary import median

BASELINE = "baseline"


def label(values: Mapping[str, Any]) -> str:
    """A setting in words: `183 threads, balanced, hugepages transparent`; the baseline has no values."""
    if not values:
        return BASELINE
    words = []
    for name, value in values.items():
        if name == "threads":
            words.append(f"{value} thread{'s' * (value != 1)}")
        elif name == "placement":
            words.append("left to the system" if value == "os" else str(value))
        elif value != "default":
            words.append(f"{name} {value}")
    return ", ".join(words)


def machine_of(experiment: Experiment) -> Machine:
    """The machine that was asked about."""
    return machine_from_json(experiment.question["machine"])


def _series(values: Mapping[str, Any]) -> str:
    rest = [f"{k} {v}" for k, v in values.items() if k not in ("threads", "placement") and v != "default"]
    return ", ".join([str(values.get("placement", "os")), *rest])


def _aliases(machine: Machine, setting: Setting) -> list[str]:
    """The placements that put this setting's threads just where they are, so that each line has all its points."""
    if setting.places is None:
        return [str(setting.values.get("placement", "os"))]
    same = []
    for policy in POLICIES:
        placed = place(machine, policy, len(setting.places))
        if placed is not None and placed.places == setting.places:
            same.append(policy)
    return same or [str(setting.values.get("placement", "os"))]


def thread_rows(experiment: Experiment, summaries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each setting and each name of its placement: threads, series, median and interval in seconds."""
    machine = machine_of(experiment)
    rows = []
    for one in summaries:
        if "threads" not in one["values"] or one["median_s"] is None:
            continue
        for policy in _aliases(machine, experiment.settings[one["key"]]):
            series = _series({**one["values"], "placement": policy})
            numbers = {k: one[k] for k in ("median_s", "low_s", "high_s", "runs")}
            rows.append({"threads": one["values"]["threads"], "series": series, "placement": policy, **numbers})
    return sorted(rows, key=lambda r: (r["series"], r["threads"]))


def leaders(verdict: Mapping[str, Any], most: int = 6) -> list[dict[str, Any]]:
    """The summaries worth a closer look: the baseline, the candidate, and the fastest that ran more than once."""
    wanted = {BASELINE, verdict["candidate"]}
    first = [s for s in verdict["settings"] if s["key"] in wanted and s["median_s"] is not None]
    more = [s for s in verdict["settings"] if s["key"] not in wanted and s["runs"] > 2 and s["median_s"] is not None]
    return sorted(first + more[: most - len(first)], key=lambda s: s["median_s"])


def sample_rows(experiment: Experiment, keys: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """A row for each good sample (of the given settings): order, seconds, ratio to its setting's median, phase, marks."""
    good = [(i, r) for i, r in enumerate(experiment.records) if r.sample.ok and (keys is None or r.setting in keys)]
    times: dict[str, list[float]] = {}
    for _, record in good:
        times.setdefault(record.setting, []).append(record.sample.seconds)
    centres = {key: median(values) for key, values in times.items()}
    return [
        {
            "order": i + 1,
            "setting": label(experiment.settings[r.setting].values),
            "key": r.setting,
            "seconds": r.sample.seconds,
            "relative": r.sample.seconds / centres[r.setting],
            "alone": len(times[r.setting]) == 1,
            "phase": r.phase,
            "state": "disturbed" if r.sample.marks else "undisturbed",
            "marks": "; ".join(r.sample.marks),
        }
        for i, r in good
    ]


def condition_rows(experiment: Experiment, keys: Sequence[str]) -> tuple[list[str], list[dict[str, Any]]]:
    """What the kernel counted for the leaders: names of the columns, and a row of medians for each setting."""
    rows, names = [], []
    for key in keys:
        samples = [r.sample for r in experiment.of(key) if r.sample.ok]
        columns: dict[str, list[float]] = {}
        for s in samples:
            for name, value in {**s.usage, **s.conditions}.items():
                columns.setdefault(name, []).append(value)
        names += [n for n in columns if n not in names]
        marked = sum(bool(s.marks) for s in samples)
        medians = {name: median(values) for name, values in columns.items()}
        rows.append(
            {"label": label(experiment.settings[key].values), "runs": len(samples), "marked": marked, **medians}
        )
    return names, rows


def csv_text(experiment: Experiment) -> str:
    """Every sample, good or not, as a row of CSV; axes, counts and conditions are columns."""
    axes = list(experiment.question["axes"])
    counts: list[str] = []
    for r in experiment.records:
        named = [f"usage.{n}" for n in r.sample.usage] + [f"conditions.{n}" for n in r.sample.conditions]
        named += [f"metrics.{n}" for n in r.sample.metrics]
        counts += [n for n in named if n not in counts]
    plain = ["setting", *axes, "phase", "block", "position", "seconds", "wall_s", "started_at", "marks", "error"]
    out = io.StringIO()
    writer = csv.DictWriter(out, [*plain, *counts], lineterminator="\n")
    writer.writeheader()
    for r in experiment.records:
        s = r.sample
        row: dict[str, Any] = {"setting": r.setting, "phase": r.phase, "block": r.block, "position": r.position}
        row |= {k: experiment.settings[r.setting].values.get(k, "") for k in axes}
        row |= {"seconds": s.seconds, "wall_s": s.wall_s, "started_at": s.started_at}
        row |= {"marks": "; ".join(s.marks), "error": s.error or ""}
        for prefix, values in (("usage", s.usage), ("conditions", s.conditions), ("metrics", s.metrics)):
            row |= {f"{prefix}.{k}": v for k, v in values.items()}
        writer.writerow(row)
    return out.getvalue()
