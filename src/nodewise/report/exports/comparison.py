# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of a comparison as other tools' formats have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from nodewise.records.experiment import Experiment


def _good(experiment: Experiment, key: str) -> Any:
    """The places of a contender's runs that count among the records."""
    own = experiment.records.of(key, "compare")
    return own[experiment.counted[own]]


def times_of(experiment: Experiment, key: str) -> Any:
    """The times of a contender's good runs, whatever metric was compared: other tools know nothing else. Of whole runs where these were."""
    name = "wall_s" if experiment.objective.metric == "wall_s" else "seconds"
    return experiment.records.plain(name)[_good(experiment, key)]


def series_of(experiment: Experiment, key: str, name: str) -> Any:
    """What the kernel counted in a contender's good runs; zeros where it did not."""
    records, own = experiment.records, _good(experiment, key)
    return np.nan_to_num(records.column("usage", name)[own]) if ("usage", name) in records.named else np.zeros(own.size)


def compared_of(experiment: Experiment, key: str) -> dict[str, Any]:
    """The metric that was compared, by its name, where it is not the time."""
    if experiment.objective.metric in ("seconds", "wall_s"):
        return {}
    metric = experiment.objective.metric
    return {metric: [float(v) for v in experiment.records.values(metric)[_good(experiment, key)]]}


def statistics_of(times: Any) -> dict[str, Any]:
    """Mean, standard deviation (None of one run) and median."""
    spread = float(np.std(times, ddof=1)) if len(times) > 1 else None
    return {"mean": float(np.mean(times)), "stddev": spread, "median": float(np.median(times))}
