# SPDX-License-Identifier: BSD-3-Clause
"""GPTune's multitask learning as a peer: earlier tunes are tasks whose data are given, the new tune is a further task.

It learns log times over that of the default, each task's first point. A point runs three times, as other peers' do: the model
takes what it is told to be almost exact. Of an earlier task it looks at as many points as the new one has, and would run more
where there were fewer, so an earlier task is a tune of its own.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import io
import math
import random
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from statistics import median
from typing import Any

from nodewise.search.space import Axis, Point, Space

#: Points in the order in which they were measured, each with the log of its time over the first one's.
Measured = list[tuple[Point, float]]
RUNS_A_POINT = 3
#: Points before the model chooses (the default, a Latin hypercube), then what it does for each within a second; one latent function.
_FIRST, _POPULATION, _GENERATIONS, _FIT_STEPS, _LATENT = 10, 20, 10, 60, 1
_NEEDED = "GPTune ytopt-autotune scikit-optimize GPy pygmo lhsmdu mpi4py joblib filelock requests"


def absent() -> str:
    """What it lacks here, and what brings that, in a line; empty where it can run."""
    # the package autotune on PyPI is another project
    missing = [name for name in _NEEDED.split() if not any(importlib.metadata.distributions(name=name))]
    how = "pip install scikit-optimize GPy pygmo lhsmdu mpi4py joblib filelock requests; pip install --no-deps GPTune==2.0.0 git+https://github.com/ytopt-team/autotune"
    return f"GPTune is left out, {', '.join(missing)} not installed: {how}" if missing else ""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    said = io.StringIO()
    with warnings.catch_warnings(action="ignore"), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        yield


@cache
def _loaded() -> Any:
    """Its main module, which finds the others by bare names in its own folder."""
    # what it imports of this is a sampler that is not asked for
    sys.modules.setdefault("openturns", types.ModuleType("openturns"))
    found = importlib.util.find_spec("GPTune")
    sys.path[:0] = folders = list(found.submodule_search_locations or ()) if found else []
    try:
        with _quiet():
            gptune: Any = importlib.import_module("gptune")
    finally:
        del sys.path[: len(folders)]

    class Island:
        # pygmo's islands of threads refuse what is written in Python, and the search ends with its first population
        def run_evolve(self, algorithm: Any, population: Any) -> tuple[Any, Any]:
            return algorithm, algorithm.evolve(population)

    class NewTask(gptune.SearchPyGMO):  # type: ignore[misc, name-defined]
        # what is searched for earlier tasks, which have all their points, would be dropped
        def search(self, data: Any, models: Any, tid: int, **more: Any) -> Any:
            if tid < data.NI - 1:
                return tid, [gptune.np.zeros((1, self.problem.DP))]
            return super().search(data, models, tid, **more)

    class Category(gptune.Categoricalnorm):  # type: ignore[misc, name-defined]
        # the same numbers, which scikit-learn takes milliseconds to encode
        def transform(self, values: Any) -> Any:
            return [self.categories.index(v) / len(self.categories) + 0.01 for v in values]

        def inverse_transform(self, numbers: Any) -> Any:
            return [self.categories[math.floor(min(x, 1 - 1e-12) * len(self.categories))] for x in numbers]

    gptune.pg.Island, gptune.NewTask, gptune.Category = Island, NewTask, Category
    return gptune


def _whole(axis: Axis) -> bool:
    return axis.ordered and all(isinstance(v, int) for v in axis.values)


def parameters(space: Space, gptune: Any) -> list[Any]:
    """The open axes as GPTune's: whole numbers from the least to the most, all else categories by their text."""

    def parameter(axis: Axis) -> Any:
        if _whole(axis):
            return gptune.Integer(min(axis.values), max(axis.values), transform="normalize", name=axis.name)
        return gptune.Category([str(v) for v in axis.values], transform="onehot", name=axis.name)

    return [parameter(a) for a in space.open]


def row_of(point: Point, space: Space) -> list[Any]:
    """A point as GPTune has it."""
    return [point[a.name] if _whole(a) else str(point[a.name]) for a in space.open]


def point_of(row: Sequence[Any], space: Space) -> Point:
    """What GPTune chose, as a point: of a whole number the nearest value."""

    def value(axis: Axis, found: Any) -> Any:
        return min(axis.values, key=lambda v: abs(v - int(found)) if _whole(axis) else str(v) != str(found))

    return Point({a.name: value(a, found) for a, found in zip(space.open, row, strict=True)})


def multitask(
    space: Space, measure: Callable[[Point], float], runs: int, seed: int, earlier: Sequence[Measured] = ()
) -> Measured:
    """What it measured in so many runs. Raises ImportError where it is not installed."""
    g, points = _loaded(), runs // RUNS_A_POINT
    for seeds in (random.seed, g.np.random.seed, g.pg.set_global_rng_seed, sys.modules["lhsmdu"].setRandomSeed):
        seeds(seed)

    def log(point: Point) -> float:
        return math.log(median(measure(point) for _ in range(RUNS_A_POINT)))

    base, measured = log(space.default), [(space.default, 0.0)]

    def objective(row: dict[str, Any]) -> list[float]:
        point = point_of([row[a.name] for a in space.open], space)
        measured.append((point, log(point) - base))
        return [measured[-1][1]]

    tasks = [*(one[:points] for one in earlier), measured[:]]
    time = g.Real(-math.inf, math.inf, name="time")
    time.optimize = True  # a field that its authors' own scikit-optimize has
    number = g.Integer(0, max(1, len(earlier)), transform="normalize", name="task")
    problem = g.TuningProblem(*map(g.Space, ([number], parameters(space, g), [time])), objective, {})
    ids, rows = [[k] for k in range(len(tasks))], [[row_of(point, space) for point, _ in task] for task in tasks]
    logs = [g.np.array([[seen] for _, seen in task]) for task in tasks]
    fitted = {"model_class": "Model_GPy_LCM", "model_max_iters": _FIT_STEPS, "model_latent": _LATENT}
    swarm = {"search_pop_size": _POPULATION, "search_gen": _GENERATIONS, "search_evolve": 1, "search_udi": "Island"}
    options = g.Options(**fitted, **swarm, search_class="NewTask", oversubscribe=True)
    options.validate(computer := g.Computer(nodes=1, cores=2))
    kept = {"history_db": True, "load_func_eval": False, "load_surrogate_model": False}  # what there is, is given
    store = types.SimpleNamespace(store_func_eval=lambda **_: None, **kept)
    tuner = g.GPTune(problem, computer, g.Data(g.Problem(problem), ids, rows, logs), store, options)
    with _quiet():
        tuner.MLA(NS=points, NS1=min(_FIRST, points - 1), NI=len(tasks), Igiven=ids)
    return measured
