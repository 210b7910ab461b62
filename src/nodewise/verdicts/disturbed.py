# SPDX-License-Identifier: BSD-3-Clause
"""What disturbed the runs of an experiment, asked for the contenders of one comparison at a time.

A run of a third contender that was disturbed says nothing of the two that are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from nodewise.records.experiment import Experiment
from nodewise.runner.marks import stolen_s
from nodewise.runner.sample import Sample
from nodewise.statistics.disturbance import Disturbance, Met, disturbance

#: What `runner.marks.stolen_s` reads of a run, and what `runner.rests` saw before it.
_USAGE, _CONDITIONS = (
    ("user_s", "system_s", "served_s"),
    ("mask_steal_s", "steal_s", "mask_busy_s", "busy_s", "rest_s", "rest_busy_s"),
)


def met_of(block: int, contender: str, sample: Sample) -> Met:
    """What a run met, as `statistics.disturbance` judges it."""
    return _met(block, contender, sample.marks, sample.wall_s, sample.usage, sample.conditions)


def _met(
    block: int,
    contender: str,
    marks: tuple[str, ...],
    wall_s: float,
    usage: Mapping[str, float],
    conditions: Mapping[str, float],
) -> Met:
    used = max(usage.get("user_s", 0.0) + usage.get("system_s", 0.0), wall_s)
    rest = (conditions.get("rest_s", 0.0), conditions.get("rest_busy_s", 0.0))
    return Met(block, contender, marks, used, stolen_s(usage, conditions), *rest, usage.get("served_s", 0.0))


class PhaseMet:
    """What the runs of one phase met, by contender."""

    def __init__(self, runs: Iterable[Met], quota: float | None = None):
        """`runs` in the order in which they were made; `quota`: the processors that the control group grants, None for all."""
        self._quota = quota
        self._runs: dict[str, list[tuple[int, Met]]] = {}
        for order, met in enumerate(runs):
            self._runs.setdefault(met.contender, []).append((order, met))
        self._known: dict[tuple[str, ...], Disturbance] = {}

    def of(self, *contenders: str) -> Disturbance:
        """What disturbed these contenders' runs (all, where none is named), and under what constant conditions they ran."""
        if contenders not in self._known:
            wanted = contenders or tuple(self._runs)
            runs = sorted((one for key in wanted for one in self._runs.get(key, ())), key=lambda one: one[0])
            self._known[contenders] = disturbance([met for _, met in runs], self._quota)
        return self._known[contenders]


def phase_met(experiment: Experiment, phase: str) -> PhaseMet:
    """What the recorded runs of a phase met."""
    records = experiment.records
    quota = quota_of(experiment.question)
    if phase not in records.phases:
        return PhaseMet((), quota)
    at = np.flatnonzero(records.phase_codes == records.phases.index(phase))
    named = set(records.named)
    wall, blocks, codes, keys, marked = (
        records.plain("wall_s"),
        records.blocks,
        records.codes,
        records.keys,
        records.marked,
    )
    columns = {
        (group, name): records.column(group, name)
        for group, names in (("usage", _USAGE), ("conditions", _CONDITIONS))
        for name in names
        if (group, name) in named
    }

    def numbers(group: str, i: int) -> dict[str, float]:
        return {n: float(c[i]) for (g, n), c in columns.items() if g == group and not np.isnan(c[i])}

    return PhaseMet(
        (
            _met(
                int(blocks[i]),
                keys[codes[i]],
                records.marks(i) if marked[i] else (),
                float(wall[i]),
                numbers("usage", i),
                numbers("conditions", i),
            )
            for i in at.tolist()
        ),
        quota,
    )


def quota_of(question: Mapping[str, object]) -> float | None:
    """How many processors the control group granted when the question was asked; None: all."""
    machine = question.get("machine")
    limits = machine.get("limits") if isinstance(machine, Mapping) else None
    quota = limits.get("cpu_quota") if isinstance(limits, Mapping) else None
    return float(quota) if quota is not None else None
