# SPDX-License-Identifier: BSD-3-Clause
"""How good the settings are that tune names, on programs that exist only as formulas, against searches that know no machine.

Regret is the noiseless time of the setting named over that of the best in the whole space, less one. Every contender has
the same runs: 3 % of what a grid with ten runs a point takes, 60 at least; tune's include its first run and confirmation.
`NODEWISE_BENCH_SEEDS` (50), `NODEWISE_BENCH_RANDOM` (40 surfaces), `NODEWISE_BENCH_COVERAGE` (500 searches) shrink it.
"""

from __future__ import annotations

import itertools
import math
import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from benchmarks._peers import PEERS, absent
from benchmarks._surfaces import MEMORIES, Pretended, Surface, gain_surface, random_surface, read_surfaces
from nodewise.experiments.progress import Progress
from nodewise.experiments.tune import Question, tune
from nodewise.machine.model import Machine
from nodewise.records.budget import Budget
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.search.space import Point, Space
from nodewise.tuning.axes import Options, Wanted
from nodewise.tuning.selection import Offer
from nodewise.verdicts.tune import TuneVerdict

SEEDS = int(os.environ.get("NODEWISE_BENCH_SEEDS", "50"))
RANDOM = int(os.environ.get("NODEWISE_BENCH_RANDOM", "40"))
COVERAGE = int(os.environ.get("NODEWISE_BENCH_COVERAGE", "500"))
PICTURE = Path(os.environ.get("NODEWISE_BENCH_PICTURE", "build/search.svg"))
OURS = "nodewise"
#: Runs for finding a gain of 3 % at a noise of 1.5 %.
GAIN_RUNS = 200


@dataclass
class Problem:
    """A surface on its machine, with the best time of its whole space and the runs that a search of it may take."""

    surface: Surface
    machine: Machine
    space: Space = field(init=False)
    options: Options = field(init=False)
    wanted: Wanted = field(init=False)
    names: tuple[str, ...] = field(init=False)
    best: float = field(init=False)
    runs: int = field(init=False)

    def __post_init__(self) -> None:
        variables = {"PRETEND_MEMORY": MEMORIES} if "PRETEND_MEMORY" in self.surface.axes else {}
        self.wanted = Wanted(variables=variables)
        self.names = tuple(name for name in self.surface.axes if name not in variables)
        self.options = Offer(self.machine, ("x",), self.names, {}, self.wanted).after_the_first_run(1000)
        self.space = self.options.space
        names = [a.name for a in self.space.axes]
        combinations = itertools.product(*(a.values for a in self.space.axes))
        self.best = min(self.seconds(dict(zip(names, values, strict=True))) for values in combinations)
        # of the four placements two are one wherever nothing but the order of threads differs
        grid = self.space.size * 3 / 4
        if variables:
            # a variable that is not set is one of its values
            grid *= len(MEMORIES) / (len(MEMORIES) + 1)
        self.runs = max(60, int(grid * 10 * 0.03))
        self.baseline = self.surface.seconds(Setting(("x",)))

    def seconds(self, values: dict[str, Any]) -> float:
        """The noiseless time of a point."""
        return self.surface.seconds(self.options.setting(Point(values)))

    def regret(self, seconds: float) -> float:
        """In percent."""
        return 100 * (seconds / self.best - 1)


@cache
def problem(surface_name: str) -> Problem:
    """The problem of a surface of that name: of the folder, `gain`, or `random N`."""
    if surface_name.startswith("random "):
        surface = random_surface(int(surface_name.split()[1]))
    elif surface_name == "gain":
        surface = gain_surface()
    else:
        surface = next(s for s in read_surfaces() if s.name == surface_name)
    return Problem(surface, surface.machine())


class _Watched(Pretended):
    """Keeps the noiseless time of every setting that ran, by its key."""

    def __init__(self, surface: Surface, seed: int):
        super().__init__(surface, seed)
        self._of = surface
        self.truth: dict[str, float] = {}

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        self.truth[setting.key] = self._of.seconds(setting)
        return super().run(setting, timeout_s=timeout_s)


@dataclass
class Outcome:
    """One tune: its verdict, the regret of what it named, and of its leader over the runs."""

    result: TuneVerdict
    regret: float
    true_ratio: float
    trace: list[tuple[int, float]]


def tuned(one: Problem, seed: int, folder: str, runs: int | None = None) -> Outcome:
    """Run the real tune on a problem."""
    launcher = _Watched(one.surface, 1000 + seed)
    trace: list[tuple[int, float]] = []

    def observe(progress: Progress) -> None:
        if progress.leader in launcher.truth:
            trace.append((progress.runs, one.regret(launcher.truth[progress.leader])))

    out = Path(tempfile.mkdtemp(dir=folder)) / "x"
    budget = Budget(None, runs or one.runs)
    question = Question(("x",), one.machine, one.names, out, budget, seed=seed, environment={}, wanted=one.wanted)
    result = tune(question, launcher, observe)
    named = launcher.truth[result.best.key]
    ratio = one.baseline / launcher.truth[result.candidate]
    return Outcome(result, one.regret(named), ratio, [*trace, (result.runs, one.regret(named))])


def _peer(name: str, one: Problem, seed: int) -> list[tuple[int, float]]:
    launcher = Pretended(one.surface, 1000 + seed)

    def measure(point: Any) -> float:
        return launcher.run(one.options.setting(point)).seconds

    found = PEERS[name](one.space, measure, one.runs, seed)
    return [(runs, one.regret(one.seconds(dict(point)))) for runs, point in found]


def _line(surface: str, runs: int | str, contender: str, regrets: Sequence[float], note: str = "") -> None:
    middle, late = np.median(regrets), np.quantile(regrets, 0.9)
    print(f"{surface:<14}{runs:>6}  {contender:<20}{middle:>8.2f} %{late:>8.2f} %   {note}", flush=True)


def _words(outcomes: Sequence[Outcome]) -> str:
    words = Counter(o.result.verdict for o in outcomes)
    used = np.mean([o.result.runs for o in outcomes])
    return f"{used:.0f} runs used; " + ", ".join(f"{word} {count}" for word, count in words.most_common())


def _at(trace: Sequence[tuple[int, float]], runs: int) -> float:
    """The regret known after so many runs; before the first setting is named there is none."""
    return next((regret for when, regret in reversed(trace) if when <= runs), math.nan)


def _curves(one: Problem, contender: str, traces: Sequence[Sequence[tuple[int, float]]]) -> list[dict[str, Any]]:
    rows = []
    for runs in np.unique(np.geomspace(5, one.runs, 40).astype(int)):
        seen = [_at(trace, int(runs)) for trace in traces]
        if sum(math.isnan(s) for s in seen) <= len(seen) / 10:
            middle = float(np.nanmedian(seen))
            rows.append({"surface": one.surface.name, "contender": contender, "runs": int(runs), "regret": middle})
    return rows


def _known(folder: str, missing: dict[str, str]) -> tuple[list[dict[str, Any]], list[Outcome]]:
    rows: list[dict[str, Any]] = []
    every: list[Outcome] = []
    print(f"{'surface':<14}{'runs':>6}  {'contender':<20}{'median':>10}{'90 %':>10}   of {SEEDS} seeds")
    for surface in read_surfaces():
        one = problem(surface.name)
        outcomes = [tuned(one, seed, folder) for seed in range(SEEDS)]
        every += outcomes
        _line(surface.name, one.runs, OURS, [o.regret for o in outcomes], _words(outcomes))
        rows += _curves(one, OURS, [o.trace for o in outcomes])
        if surface.name == "flat":
            same = sum(o.result.verdict == "no difference" for o in outcomes)
            print(f"  no difference is said in {same} of {SEEDS} ({same / SEEDS:.0%}), as it should be")
        for name in PEERS:
            if surface.name == "flat":
                continue
            if name in missing:
                print(f"{surface.name:<14}{one.runs:>6}  {name:<20}{missing[name]}")
                continue
            # hundreds of trials of a model in pure Python take minutes
            seeds = SEEDS if one.runs <= 600 or name == "random, 3 runs" else max(1, SEEDS // 5)
            traces = [_peer(name, one, seed) for seed in range(seeds)]
            _line(surface.name, one.runs, name, [trace[-1][1] for trace in traces], f"{seeds} seeds")
            rows += _curves(one, name, traces)
    return rows, every


def _unknown(folder: str, missing: dict[str, str]) -> list[Outcome]:
    """Surfaces that were never looked at, three seeds each."""
    problems = [problem(f"random {k}") for k in range(1000, 1000 + RANDOM)]
    outcomes = [tuned(one, seed, folder) for one in problems for seed in range(3)]
    _line(f"{RANDOM} random", "3 %", OURS, [o.regret for o in outcomes], _words(outcomes))
    for name in PEERS:
        # TPE takes minutes for thousands of trials
        small = [one for one in problems if one.runs <= 300]
        if name not in missing and small:
            ends = [_peer(name, one, seed)[-1][1] for one in small for seed in range(3)]
            _line(f"{len(small)} of them", "3 %", name, ends, "those of at most 300 runs")
    return outcomes


def _coverage(folder: str, every: Sequence[Outcome]) -> None:
    """Whether the interval of the gain holds the true one, over searches of many kinds."""
    outcomes = list(every)[:COVERAGE]
    kinds = [("xeon-stream", 60), ("knc-sort", 120), ("imbalanced", 120), ("gain", 100), ("random 2000", 100)]
    for k in range(COVERAGE - len(outcomes)):
        name, runs = kinds[k % len(kinds)]
        outcomes.append(tuned(problem(name), 10_000 + k, folder, runs))
    known = [o for o in outcomes if o.result.low is not None]
    inside = sum(o.result.low <= o.true_ratio <= o.result.high for o in known)
    high = np.mean([math.log(o.result.ratio / o.true_ratio) for o in known])
    print(f"interval of the gain: holds the true ratio in {inside} of {len(known)} ({inside / max(1, len(known)):.1%})")
    print(f"  {len(outcomes) - len(known)} more had no interval; on average the gain told is {100 * high:+.2f} % off")


def _gains(folder: str) -> None:
    one = problem("gain")
    outcomes = [tuned(one, seed, folder, GAIN_RUNS) for seed in range(2 * SEEDS)]
    found = sum(o.result.verdict == "faster" for o in outcomes)
    _line("gain of 3 %", GAIN_RUNS, OURS, [o.regret for o in outcomes], _words(outcomes))
    print(f"  found in {found} of {len(outcomes)} ({found / len(outcomes):.0%})")


def _draw(rows: list[dict[str, Any]]) -> Path:
    chart = (
        alt.Chart(alt.Data(values=[{**r, "regret": max(r["regret"], 0.01)} for r in rows if r["surface"] != "flat"]))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("runs:Q", title="runs", scale=alt.Scale(type="log")),
            y=alt.Y("regret:Q", title="regret, % (median)", scale=alt.Scale(type="log")),
            color=alt.Color("contender:N", title=None, sort=[OURS, *PEERS]),
        )
        .properties(width=260, height=180)
        .facet(facet=alt.Facet("surface:N", title=None), columns=3)
        .resolve_scale(x="independent", y="independent")
    )
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(vl_convert.vegalite_to_svg(chart.to_dict()))
    return PICTURE


def main() -> None:
    """Print the table and draw the picture."""
    begin, cpu = time.perf_counter(), time.process_time()
    missing = absent()
    with tempfile.TemporaryDirectory() as folder:
        rows, every = _known(folder, missing)
        every += _unknown(folder, missing)
        _gains(folder)
        _coverage(folder, every)
    print(
        f"picture: {_draw(rows)}; {time.perf_counter() - begin:.0f} s in all, {time.process_time() - cpu:.0f} s of a processor"
    )


if __name__ == "__main__":
    main()
