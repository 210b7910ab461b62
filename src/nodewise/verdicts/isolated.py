# SPDX-License-Identifier: BSD-3-Clause
"""What is to be known of runs in containers and virtual machines that stand beside others."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.base.units import format_bytes
from nodewise.records.experiment import Experiment
from nodewise.runner.isolation import PROCESS, STARTUP, TEARDOWN

MEMORY = "peak_bytes"
#: Peak memory below this may be that of what starts the program, which the kernel goes on counting after the program took its place.
_STARTERS = 8 << 20


def kind_of_isolation(experiment: Experiment, key: str) -> str:
    """The kind of isolation that a setting runs in; `process` where it is in none."""
    setting = experiment.settings.get(key)
    return PROCESS if setting is None or setting.isolation is None else setting.isolation.kind


def own_wall(experiment: Experiment, key: str, medians: Mapping[str, float]) -> float | None:
    """The wall time of a setting's program by itself, from the medians of its runs.

    None where it is isolated and reports a time of its own: what else it took is then known only together with its runtime.
    """
    if kind_of_isolation(experiment, key) == PROCESS:
        return medians["wall_s"]
    records = experiment.records
    reported = any(records[int(i)].sample.source != "wall" for i in records.of(key) if records.ok[i])
    return None if reported else medians["seconds"]


def memory_is_the_starters(experiment: Experiment, peaks: Mapping[str, float]) -> bool:
    """Whether peak memory cannot be held against each other: the settings, with theirs, are of several kinds, and one is small."""
    kinds = {kind_of_isolation(experiment, key) for key in peaks}
    return len(kinds) > 1 and min(peaks.values()) < _STARTERS


def isolation_limits(experiment: Experiment, medians: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What numbers of isolated runs mean beside those of others; `medians` are those of each setting's runs."""
    if {kind_of_isolation(experiment, key) for key in experiment.settings} <= {PROCESS}:
        return []
    return [
        f"times of isolated runs are the program's own, taken inside: {STARTUP} lies before and {TEARDOWN} behind",
        "faults, switches, cycles and instructions of isolated runs are left blank: they are counted from outside, where those of "
        "the runtime cannot be told apart",
        *_memory(experiment, medians),
    ]


def memory_notes(experiment: Experiment, medians: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Where peak memory is asked for and cannot be compared across kinds of isolation, why."""
    asked = {experiment.objective.metric, *(o.metric for o in experiment.shown.metrics)}
    return _memory(experiment, medians) if MEMORY in asked else []


def _memory(experiment: Experiment, medians: Mapping[str, Mapping[str, float]]) -> list[str]:
    peaks = {key: found[MEMORY] for key, found in medians.items() if MEMORY in found}
    if not peaks or not memory_is_the_starters(experiment, peaks):
        return []
    return [
        f"peak memory below {format_bytes(_STARTERS)} is not comparable across kinds of isolation: the kernel counts in what starts "
        "a program, which is nodewise-runner for a process and a smaller program inside"
    ]
