# SPDX-License-Identifier: BSD-3-Clause
"""Searches that know nothing of machines, on the same spaces: random, successive halving, Optuna's TPE, SMAC3."""

from __future__ import annotations

import contextlib
import importlib.util
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from nodewise.search.space import Point, Space

#: Seconds of one run of a point.
Measure = Callable[[Point], float]
#: What a peer says along the way: after so many runs this is its best.
Trace = Iterator[tuple[int, Point]]

_RUNS_A_POINT = 3


def random_search(space: Space, measure: Measure, runs: int, seed: int) -> Trace:
    """Points at random, three runs each, the lowest median."""
    rng = random.Random(seed)
    best: tuple[float, Point] | None = None
    for k in range(runs // _RUNS_A_POINT):
        point = Point({a.name: rng.choice(a.values) for a in space.open})
        seconds = median(measure(point) for _ in range(_RUNS_A_POINT))
        if best is None or seconds < best[0]:
            best = (seconds, point)
        yield (k + 1) * _RUNS_A_POINT, best[1]


def successive_halving(space: Space, measure: Measure, runs: int, seed: int) -> Trace:
    """Many points once, the best third of them again, and so on (K. Jamieson, A. Talwalkar, AISTATS 2016)."""
    rng = random.Random(seed)
    rungs = next(k for k in range(2, 20) if 3**k > runs // k)
    arms = [Point({a.name: rng.choice(a.values) for a in space.open}) for _ in range(runs // rungs)]
    times: dict[Point, list[float]] = {arm: [] for arm in arms}
    spent, each = 0, 1
    while arms and spent + each * len(arms) <= runs:
        for arm in arms:
            times[arm] += [measure(arm) for _ in range(each)]
            spent += each
        arms = sorted(dict.fromkeys(arms), key=lambda a: median(times[a]))
        yield spent, arms[0]
        arms = arms[: max(1, len(arms) // 3)]
        each = max(1, runs // rungs // len(arms))


def optuna_tpe(space: Space, measure: Measure, runs: int, seed: int) -> Trace:
    """Optuna's tree-structured Parzen estimator, three runs a point. Raises ImportError where Optuna is not installed."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    best: tuple[float, Point] | None = None
    for k in range(runs // _RUNS_A_POINT):
        trial = study.ask()
        values: dict[str, Any] = {}
        for axis in space.open:
            if axis.ordered and all(isinstance(v, int) for v in axis.values):
                values[axis.name] = trial.suggest_int(axis.name, min(axis.values), max(axis.values))
            else:
                values[axis.name] = trial.suggest_categorical(axis.name, list(axis.values))
        point = Point(values)
        seconds = median(measure(point) for _ in range(_RUNS_A_POINT))
        study.tell(trial, seconds)
        if best is None or seconds < best[0]:
            best = (seconds, point)
        yield (k + 1) * _RUNS_A_POINT, best[1]


def smac3(space: Space, measure: Measure, runs: int, seed: int) -> Trace:
    """SMAC3's random forest with its racing of noisy settings. Raises ImportError where it is not installed."""
    import logging

    from ConfigSpace import Categorical, ConfigurationSpace, Integer
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.main.exceptions import ConfigurationSpaceExhaustedException

    known = ConfigurationSpace(seed=seed)
    for axis in space.open:
        if axis.ordered and all(isinstance(v, int) for v in axis.values):
            known.add(Integer(axis.name, (min(axis.values), max(axis.values)), default=axis.default))
        else:
            known.add(Categorical(axis.name, [str(v) for v in axis.values], default=str(axis.default)))

    def point_of(found: Any) -> Point:
        return Point({a.name: {str(v): v for v in a.values}[str(found[a.name])] for a in space.open})

    def target(found: Any, seed: int = 0) -> float:
        del seed
        return measure(point_of(found))

    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(known, deterministic=False, n_trials=runs, seed=seed, output_directory=Path(folder))
        facade = HyperparameterOptimizationFacade(scenario, target, overwrite=True, logging_level=logging.CRITICAL)
        # a small space it has seen through before the runs are spent
        with contextlib.suppress(ConfigurationSpaceExhaustedException):
            facade.optimize()
        yield facade.runhistory.finished, point_of(facade.intensifier.get_incumbents()[0])


TPE, SMAC = "Optuna TPE, 3 runs", "SMAC3"
PEERS: dict[str, Callable[[Space, Measure, int, int], Trace]] = {
    "random, 3 runs": random_search,
    "successive halving": successive_halving,
    TPE: optuna_tpe,
    SMAC: smac3,
}
#: Peers that a package brings, which is imported by the same name.
DISTRIBUTIONS = {TPE: "optuna", SMAC: "smac"}


def absent() -> dict[str, str]:
    """Peers that cannot run here, with what brings them."""
    return {
        name: "not installed: pip install 'nodewise[bench]'"
        for name, module in DISTRIBUTIONS.items()
        if importlib.util.find_spec(module) is None
    }
