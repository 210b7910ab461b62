# SPDX-License-Identifier: BSD-3-Clause
"""How good the settings are that tune names, on programs that exist only as formulas, against searches that know no machine.

Regret is the noiseless time of a setting over that of the best in the whole space, less one. Every contender has the same
runs; tune's include its first run and its confirmation. What tune found is its candidate; what it hands back is that only
where it is confirmed, else the program as it is. A run of a peer that fails or hangs counts as three times the baseline.

`python -m benchmarks search [--seeds 10] [--peer-seeds 24] [--smac-seeds 12] [--random 10] [--only NAME,…] [--peers again]`;
200 seeds judge a change. What Optuna and SMAC3 found is kept in `peers.jsonl` and read from there; what is not in it, and
with `--peers again` all, is run. With `--seeds 0` they run alone. NODEWISE_BENCH_PICTURE names the picture's file.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from benchmarks._cases import Case, Pretending, case, case_of, known_cases, made_cases
from benchmarks._kept import Kept
from benchmarks._peers import PEERS, SMAC, absent
from benchmarks._surfaces import gain_surface, random_surface
from nodewise.experiments.progress import Progress
from nodewise.experiments.tune import tune
from nodewise.experiments.tune_question import Question
from nodewise.statistics.verdict import Word
from nodewise.verdicts.tune import TuneVerdict

PICTURE = Path(os.environ.get("NODEWISE_BENCH_PICTURE", "build/search.svg"))
OURS = "nodewise"
#: The noise and the runs at which all surfaces are held against peers, and those for finding a gain of 3 %.
NOISY, NOISY_RUNS, NOISY_UNKNOWN = {"sigma": 0.05}, 200, 3
GAIN_RUNS = 200
#: Found is what is said to be faster and takes no more than this over the best time.
FOUND = 10.0


@dataclass
class Outcome:
    """One tune: its verdict, the regret of what it handed back and of its candidate, and of its leader over the runs.

    `over` is how much of the budget's seconds it took beyond them, in runs of the baseline.
    """

    result: TuneVerdict
    regret: float
    candidate: float
    true_ratio: float
    trace: list[tuple[int, float]]
    over: float

    @property
    def found(self) -> bool:
        """Whether a setting near the best was found and confirmed."""
        return self.result.verdict is Word.FASTER and self.regret <= FOUND


@cache
def _best(name: str, runs: int) -> float:
    return case(name).best(runs)


def tuned(
    one: Case, seed: int, folder: str, runs: int | None = None, noise: Mapping[str, float] | None = None
) -> Outcome:
    """Run the real tune on a case."""
    launcher = Pretending(one, 1000 + seed, noise)
    best = _best(one.name, runs or one.runs)

    def regret(key: str) -> float:
        return min(1e4, 100 * (launcher.truth[key] / best - 1))

    trace: list[tuple[int, float]] = []

    def observe(progress: Progress) -> None:
        if progress.leader in launcher.truth:
            trace.append((progress.runs, regret(progress.leader)))

    out = Path(tempfile.mkdtemp(dir=folder)) / "x"
    budget = one.budget(runs)
    question = Question(
        one.command, one.machine, one.axes, out, budget, seed=seed, environment=one.environment, wanted=one.wanted
    )
    result = tune(question, launcher, observe, clock=launcher.clock)
    ended = [*trace, (result.runs, regret(result.candidate))]
    over = 0.0 if budget.seconds is None else (launcher.spent_s - budget.seconds) / one.baseline
    ratio = one.baseline / launcher.truth[result.candidate]
    return Outcome(result, regret(result.best.key), regret(result.candidate), ratio, ended, over)


def _peer(name: str, one: Case, seed: int, runs: int, noise: Mapping[str, float] | None) -> list[tuple[int, float]]:
    launcher = Pretending(one, 1000 + seed, noise)
    options = one.options(runs)
    worst = 3 * one.baseline

    def measure(point: Any) -> float:
        sample = launcher.run(options.setting(point), timeout_s=worst)
        return sample.seconds if sample.ok else worst

    best = _best(one.name, runs)
    found = PEERS[name](options.space, measure, runs, seed)
    return [(n, min(1e4, 100 * (one.seconds(options.setting(point)) / best - 1))) for n, point in found]


def _upper(regrets: Sequence[float]) -> float:
    """The upper end of the bootstrap's 95 % interval of the median."""
    drawn = np.random.default_rng(0).choice(regrets, (1000, len(regrets)))
    return float(np.quantile(np.median(drawn, axis=1), 0.975))


def _line(surface: str, runs: int | str, contender: str, regrets: Sequence[float], note: str = "") -> None:
    middle, late = np.median(regrets), np.quantile(regrets, 0.9)
    print(
        f"{surface:<21}{runs:>5}  {contender:<20}{middle:>8.2f} %{_upper(regrets):>8.2f} %{late:>9.2f} %   {note}",
        flush=True,
    )


def _words(outcomes: Sequence[Outcome]) -> str:
    words = Counter(o.result.verdict.value for o in outcomes)
    used = np.mean([o.result.runs for o in outcomes])
    found = sum(o.found for o in outcomes)
    back = np.median([o.regret for o in outcomes])
    over = max(o.over for o in outcomes)
    said = ", ".join(f"{word} {count}" for word, count in words.most_common())
    late = f"; at most {over:.1f} runs over the budget" if over > 0 else ""
    return f"found {found} of {len(outcomes)}; {said}; handed back {back:.2f} %; {used:.0f} runs used{late}"


def _at(trace: Sequence[tuple[int, float]], runs: int) -> float:
    """The regret known after so many runs; before the first setting is named there is none."""
    return next((regret for when, regret in reversed(trace) if when <= runs), math.nan)


def _curves(
    name: str, runs: int, contender: str, traces: Sequence[Sequence[tuple[int, float]]]
) -> list[dict[str, Any]]:
    rows = []
    for at in np.unique(np.geomspace(5, runs, 40).astype(int)):
        seen = [_at(trace, int(at)) for trace in traces]
        if sum(math.isnan(s) for s in seen) <= len(seen) / 10:
            middle = float(np.nanmedian(seen))
            rows.append({"surface": name, "contender": contender, "runs": int(at), "regret": middle})
    return rows


def _found(cases: Sequence[Case], seeds: int, folder: str) -> list[Outcome]:
    """Each case with its own runs and noise."""
    every: list[Outcome] = []
    for one in cases:
        outcomes = [tuned(one, seed, folder) for seed in range(seeds)]
        every += outcomes
        _line(one.name, one.runs, OURS, [o.candidate for o in outcomes], _words(outcomes))
    return every


def _against_peers(
    cases: Sequence[Case], asked: argparse.Namespace, folder: str, missing: Mapping[str, str]
) -> list[dict[str, Any]]:
    """All of them at the same noise, with as many runs for each contender."""
    rows: list[dict[str, Any]] = []
    kept = Kept(again=asked.peers == "again")
    for one in cases:
        outcomes = [tuned(one, seed, folder, NOISY_RUNS, NOISY) for seed in range(asked.seeds)]
        if outcomes:
            _line(one.name, NOISY_RUNS, OURS, [o.candidate for o in outcomes], _words(outcomes))
            rows += _curves(one.name, NOISY_RUNS, OURS, [o.trace for o in outcomes])
        for name in PEERS:
            if name in missing:
                print(f"{one.name:<21}{NOISY_RUNS:>5}  {name:<20}{missing[name]}")
                continue
            seeds = range(asked.smac_seeds if name == SMAC else asked.peer_seeds)
            if not seeds:
                continue
            best, sigma = _best(one.name, NOISY_RUNS), NOISY["sigma"]
            traces = [
                kept.trace(name, one, best, NOISY_RUNS, sigma, s, partial(_peer, name, one, s, NOISY_RUNS, NOISY))
                for s in seeds
            ]
            _line(one.name, NOISY_RUNS, name, [trace[-1][1] for trace in traces], f"{len(traces)} seeds")
            rows += _curves(one.name, NOISY_RUNS, name, traces)
    return rows


def _coverage(every: Sequence[Outcome]) -> None:
    """Whether the interval of the gain holds the true one."""
    known = [o for o in every if o.result.low is not None and o.result.high is not None and o.true_ratio > 0]
    inside = sum((o.result.low or 0) <= o.true_ratio <= (o.result.high or math.inf) for o in known)
    high = np.mean([math.log(o.result.ratio / o.true_ratio) for o in known])
    print(f"interval of the gain: holds the true ratio in {inside} of {len(known)} ({inside / max(1, len(known)):.1%})")
    print(f"  {len(every) - len(known)} more had no interval; on average the gain told is {100 * high:+.2f} % off")


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


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks search")
    for name, count in (("seeds", 10), ("peer-seeds", 24), ("smac-seeds", 12), ("random", 10)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--only", default="")
    parser.add_argument("--peers", choices=("kept", "again"), default="kept")
    return parser.parse_args(list(words))


def main(*words: str) -> None:
    """Print the tables and draw the picture."""
    asked = _options(words)
    begin, cpu = time.perf_counter(), time.process_time()
    missing = absent()
    with tempfile.TemporaryDirectory() as folder:
        known, made = known_cases(), made_cases(Path(folder))
        gain = case_of(gain_surface())
        gain.runs = GAIN_RUNS
        unknown = [case_of(random_surface(k)) for k in range(1000, 1000 + asked.random)]
        wanted = set(filter(None, asked.only.split(",")))

        def chosen(cases: Sequence[Case]) -> list[Case]:
            return [c for c in cases if not wanted or c.name in wanted]

        print(f"{'surface':<21}{'runs':>5}  {'contender':<20}{'median':>10}{'up to':>10}{'90 %':>11}   found by tune")
        every = _found(chosen([*made, *known, gain, *unknown]), asked.seeds, folder) if asked.seeds else []
        print(f"the same with {NOISY_RUNS} runs and a noise of 5 %, beside peers")
        rows = _against_peers(chosen([*known, *made, *unknown[:NOISY_UNKNOWN]]), asked, folder, missing)
        if every:
            _coverage(every)
    print(
        f"picture: {_draw(rows)}; {time.perf_counter() - begin:.0f} s in all, {time.process_time() - cpu:.0f} s of a processor"
    )


if __name__ == "__main__":
    main()
