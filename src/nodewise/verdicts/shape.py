# SPDX-License-Identifier: BSD-3-Clause
"""What the runs of a contender look like in their order: modes, drift, a first one that differs."""

from __future__ import annotations

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_percent
from nodewise.records.columns import WARM_UP
from nodewise.records.experiment import Experiment
from nodewise.runner.objective import SECONDS, format_metric
from nodewise.statistics.modes import Mode, modes
from nodewise.statistics.summary import median
from nodewise.statistics.trend import drift, first_run_differs
from nodewise.verdicts.pair import costs_of

#: A drift, or a first run that differs, of less than this is not worth a word.
_DRIFT, _FIRST = 0.01, 0.1


@dataclass(frozen=True)
class Shape:
    """What a contender's runs look like in their order.

    `modes` are values of the metric with the share of the runs around them, one where they gather at one place; `drift` the
    change over all runs and `first_run` how far the first one was off, as shares, None where neither was seen.
    """

    modes: tuple[tuple[float, float], ...] = ()
    drift: float | None = None
    first_run: float | None = None


def shape_of(experiment: Experiment, key: str, phase: str) -> Shape:
    """That of a contender's good runs in a phase, of which there are some."""
    costs = costs_of(experiment, key, phase)
    trend = drift(costs)
    # times that drift look as if they gathered at several places
    gathered = modes(costs)
    places = gathered.modes if gathered.bimodal and not trend.found else (Mode(median(costs), 1.0),)
    every = [*costs_of(experiment, key, WARM_UP), *costs]

    def of_metric(share: float | None) -> float | None:
        # what costs more a rate is less
        return 1 / (1 + share) - 1 if share is not None and experiment.objective.maximise else share

    return Shape(
        tuple((experiment.objective.value(m.seconds), m.share) for m in places),
        of_metric(trend.size) if trend.found else None,
        of_metric(first_run_differs(every)),
    )


def shape_notes(experiment: Experiment, shape: Shape, warmup: int) -> list[str]:
    """What is said of it; so many runs were made for `warmup`."""
    warnings = []
    metric = experiment.objective.metric
    alone = len(experiment.question["contenders"]) == 1
    if len(shape.modes) > 1:
        places = " and ".join(
            f"{format_metric(metric, value, experiment.shown.currency)} ({format_percent(share)} of the runs)"
            for value, share in shape.modes
        )
        warnings.append(
            f"its {'times' if metric == SECONDS.metric else f'values of {metric}'} are {'bimodal' if len(shape.modes) == 2 else 'multimodal'}: they cluster around {places}, so the median "
            "is one of these by chance. Look for what differs between runs: placement, memory, turbo, a cache of files"
        )
    if shape.drift is not None and abs(shape.drift) >= _DRIFT:
        way = "grew" if shape.drift > 0 else "fell"
        warnings.append(
            f"it {way} by {format_percent(abs(shape.drift))} from the first run to the last"
            + ("" if alone else "; pairs within a block cancel most of it")
        )
    if shape.first_run is not None and abs(shape.first_run) >= _FIRST:
        slow = ": files were not cached, or something had to start"
        worse = (shape.first_run > 0) is not experiment.objective.maximise
        why = slow if worse else ", and something else differed then"
        which = "its warm-up run, which does not count," if warmup else "its first run"
        rest = "" if warmup else "; with --warmup it is left out"
        took = "took" if metric == SECONDS.metric else f"had by its {metric}"
        warnings.append(f"{which} {took} {1 + shape.first_run:.2f} times as much as the others{why}{rest}")
    return warnings
