# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment holds as a table in CSV: its samples, the contenders of a study, the kernels of a roofline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from nodewise.records.experiment import Experiment
from nodewise.report.exports.cells import csv_of
from nodewise.verdicts.roofline import Kernel, RooflineVerdict
from nodewise.verdicts.stored import Stored
from nodewise.verdicts.study import StudyRow, StudyVerdict

#: What no column of a table holds: times of single blocks.
_LEFT_OUT = ("times",)


def sample_rows_csv(stored: Stored[Any]) -> str:
    """Every sample, good or not, as a row of CSV; axes, counts and conditions are columns."""
    experiment, axes = stored.experiment, list(stored.question.axes)
    counts: list[str] = []
    for r in experiment.records:
        named = [f"usage.{n}" for n in r.sample.usage] + [f"conditions.{n}" for n in r.sample.conditions]
        named += [f"metrics.{n}" for n in r.sample.metrics]
        counts += [n for n in named if n not in counts]
    plain = ["setting", *axes, "phase", "block", "position", "seconds", "wall_s", "started_at", "marks", "error"]
    return csv_of([*plain, *counts], _csv_rows(experiment, axes))


def _csv_rows(experiment: Experiment, axes: Sequence[str]) -> Iterator[dict[str, Any]]:
    for r in experiment.records:
        s = r.sample
        row: dict[str, Any] = {"setting": r.setting, "phase": r.phase, "block": r.block, "position": r.position}
        row |= {k: experiment.settings[r.setting].values.get(k, "") for k in axes}
        row |= {"seconds": s.seconds, "wall_s": s.wall_s, "started_at": s.started_at}
        row |= {"marks": "; ".join(s.marks), "error": s.error or ""}
        for prefix, values in (("usage", s.usage), ("conditions", s.conditions), ("metrics", s.metrics)):
            row |= {f"{prefix}.{k}": v for k, v in values.items()}
        yield row


def study_rows_csv(stored: Stored[StudyVerdict]) -> str:
    """The contenders of a study; knobs and metrics are columns of their own."""
    return _csv([_study_row(result, row) for result in stored.verdicts for row in result.rows])


def kernel_rows_csv(stored: Stored[RooflineVerdict]) -> str:
    """The kernels of a roofline; knobs are columns of their own."""
    return _csv([_kernel(one) for one in stored.verdict.kernels])


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    return csv_of(list(dict.fromkeys(name for row in rows for name in row)), rows)


def _study_row(result: StudyVerdict, row: StudyRow) -> dict[str, Any]:
    pair = row.against_peer
    peer = {
        "best_peer": pair and pair.one,
        "ratio_to_best_peer": result.ratio_to_peer(row),
        "low": pair and pair.low,
        "high": pair and pair.high,
        "verdict": pair and pair.verdict,
        "reason": pair.reason if pair else "",
    }
    own = {"ratio_to_plain": result.ratio_to_plain(row)}
    return {"study": result.study, **_flat(row, {"against_peer": peer, "against_plain": own})}


def _kernel(one: Kernel) -> dict[str, Any]:
    bound = {"peak": one.bound.peak, "bound": one.bound.name, "roof": one.bound.roof, "share": one.bound.share}
    return _flat(one, {"bound": bound})


def _flat(row: StudyRow | Kernel, comparisons: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The fields as columns in their order, those of a comparison as the columns that are given for it."""
    made: dict[str, Any] = {}
    for name in (f.name for f in fields(row) if f.name not in _LEFT_OUT):
        value = comparisons.get(name, getattr(row, name))
        made |= value if isinstance(value, Mapping) else {name: value}
    return made
