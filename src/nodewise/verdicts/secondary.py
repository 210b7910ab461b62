# SPDX-License-Identifier: BSD-3-Clause
"""What is shown with the number that decides: other metrics of each setting, and which settings no other beats in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_seconds
from nodewise.records.experiment import Experiment
from nodewise.runner.isolation import PROCESS, STARTUP, TEARDOWN
from nodewise.runner.objective import SECONDS, WORK, Objective
from nodewise.runner.price import COST
from nodewise.statistics.interval import median_interval
from nodewise.statistics.pareto import pareto_front
from nodewise.statistics.summary import MAD_TO_SIGMA, mad, median
from nodewise.verdicts.isolated import MEMORY, kind_of_isolation, memory_is_the_starters

ENERGY = "energy_j"
_TIMES = ("seconds", "wall_s")
#: Peak memory that differs by less than this is no choice.
_MEMORY_DIFFERS = 1.05
#: The counters of energy step about every millisecond: of a shorter run they say little.
_COARSE_S = 0.02
#: Standard deviations by which a lone run has to be better.
_SURE = 3.0


@dataclass(frozen=True)
class MetricSummary:
    """A metric of a setting's good runs: median, median absolute deviation, and the 95% interval of the median.

    The interval is None where there are too few runs for one.
    """

    median: float
    mad: float
    low: float | None
    high: float | None


class Measured(Protocol):
    """A row of a table of settings, as far as its front is concerned."""

    @property
    def key(self) -> str:
        """Its name."""
        ...

    @property
    def median(self) -> float | None:
        """Its median in the metric's unit."""
        ...

    @property
    def mad(self) -> float | None:
        """Its spread."""
        ...

    @property
    def runs(self) -> int:
        """How often it ran."""
        ...

    @property
    def failed(self) -> int:
        """How often it failed."""
        ...

    @property
    def metrics(self) -> Mapping[str, MetricSummary]:
        """Its other metrics."""
        ...


Row = TypeVar("Row", bound=Measured)


def summary_of(values: Sequence[float]) -> MetricSummary:
    """Centre, spread and interval of some values. Raises ValueError for none."""
    low, high = interval_of(values)
    return MetricSummary(median(values), mad(values), low, high)


def interval_of(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The 95% interval of the median; None and None below six values, of which none can be had."""
    return median_interval(values) or (None, None)


class SecondaryMetrics:
    """The other metrics of an experiment: those asked for, energy, cost and memory where they were recorded, and what isolation costs."""

    def __init__(self, experiment: Experiment):
        self._experiment = experiment
        self._objective = experiment.objective
        self._shown = experiment.shown.metrics
        self._counted = experiment.counted
        known = {name for _, name in experiment.records.named}
        metrics = {o.metric: o for o in self._shown}
        usual = [Objective(m) for m in (ENERGY, COST, MEMORY) if m in known]
        isolated = any(kind_of_isolation(experiment, key) != PROCESS for key in experiment.settings)
        self._around = [Objective(m) for m in (STARTUP, TEARDOWN) if isolated and m in known]
        usual += self._around
        usual += [] if self._objective.metric in _TIMES else [SECONDS]
        metrics = {o.metric: o for o in usual} | metrics
        metrics.pop(self._objective.metric, None)
        self.metrics = tuple(metrics.values())
        self._columns = {m: experiment.records.values(m) for m in metrics}

    def of(self, at: npt.NDArray[np.int64]) -> dict[str, MetricSummary]:
        """Of each metric that those of the records `at` that count report its summary."""
        good = at[self._counted[at]]
        found = {}
        for metric, column in self._columns.items():
            values = column[good]
            values = values[~np.isnan(values)]
            if values.size:
                found[metric] = summary_of(values.tolist())
        return found

    def pareto_fronts(self, rows: Sequence[Measured]) -> dict[str, tuple[str, ...]]:
        """For each metric the rows' keys that no other beats in both it and the number that decides, the best of that first.

        One that ever failed is on no front; one that ran once may have been lucky and is there only if it would be with
        numbers that are worse by the noise of the others. Peak memory counts where it differs.
        """
        found = {}
        for other in self.metrics:
            judged = judged_rows(rows, other.metric)
            values = [r.metrics[other.metric].median for r in judged]
            if other not in self._shown and (other in self._around or (other.metric == MEMORY and not _differ(values))):
                continue
            peaks = dict(zip((r.key for r in judged), values, strict=True)) if other.metric == MEMORY else {}
            if peaks and memory_is_the_starters(self._experiment, peaks):
                continue
            repeated = [r for r in judged if r.runs > 1]
            doubts = [
                _noise([(r.median, r.mad) for r in repeated]),
                _noise([(r.metrics[other.metric].median, r.metrics[other.metric].mad) for r in repeated]),
            ]
            points = []
            for row, value in zip(judged, values, strict=True):
                first, second = doubts if row.runs == 1 else (0.0, 0.0)
                points.append((_worse(self._objective, row.median or 0.0, first), _worse(other, value, second)))
            if len(points) > 1:
                front = [judged[i] for i in pareto_front(points)]
                found[other.metric] = tuple(r.key for r in sorted(front, key=lambda r: self._rank(r.median or 0.0)))
        return found

    def _rank(self, value: float) -> float:
        return _worse(self._objective, value, 0.0)


def judged_rows(rows: Sequence[Row], metric: str) -> list[Row]:
    """The rows that may be on a front of `metric`."""
    return [r for r in rows if r.median is not None and not r.failed and metric in r.metrics]


def _noise(centres: Sequence[tuple[float | None, float | None]]) -> float:
    """How far a single run may lie from its setting's median, as a share of it: the usual spread, three times.

    `centres` are medians with their MAD.
    """
    shares = [(spread or 0.0) / abs(centre) for centre, spread in centres if centre]
    return _SURE * MAD_TO_SIGMA * median(shares) if shares else 0.0


def _worse(objective: Objective, value: float, share: float) -> float:
    """A number that is smaller for the better value, made worse by a share of the value."""
    return (-value if objective.maximise else value) + share * abs(value)


def _differ(values: Sequence[float]) -> bool:
    return bool(values) and max(values) > _MEMORY_DIFFERS * min(values)


def energy_notes(experiment: Experiment) -> list[str]:
    """What has to be known of energy, where it decides or was asked for."""
    asked = [experiment.objective.metric, *(o.metric for o in experiment.shown.metrics)]
    records = experiment.records
    if not any(m.startswith("energy_") for m in asked) or ("conditions", ENERGY) not in records.named:
        return []
    notes = [f"energy is that of {energy_parts(experiment)} while a run lasted, whoever used it"]
    good = experiment.counted & ~np.isnan(records.values(ENERGY))
    wall = float(np.median(records.plain("wall_s")[good])) if good.any() else 0.0
    if 0 < wall < _COARSE_S:
        notes.append(
            f"runs take {format_seconds(wall)} and the counters of energy step about every millisecond: the energy of one "
            "run is coarse"
        )
    return notes


def metric_notes(experiment: Experiment) -> list[str]:
    """Which numbers were read from the output and decide nothing: which way they are better is not known."""
    how = experiment.question.get("how", {})
    counted = {SECONDS.metric, *WORK, experiment.objective.metric, *(o.metric for o in experiment.shown.metrics)}
    known = counted | {name.removesuffix("/s") for name in counted}
    left = [name for name in how.get("metrics", {}) if name not in known]
    return [
        f"{name} is read and does not decide, {experiment.objective.metric} does: --maximize {name} or --minimize {name} "
        "lets it decide, --show shows it"
        for name in left
    ]


def energy_parts(experiment: Experiment) -> str:
    """What the recorded energy is the sum of."""
    named = experiment.records.named
    if ("conditions", "energy_psys_j") in named:
        return "the whole machine (psys, since no socket is shown)"
    memory = " and their memory" if ("conditions", "energy_dram_j") in named else ""
    return f"the whole machine's sockets{memory}"
