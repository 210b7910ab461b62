# SPDX-License-Identifier: BSD-3-Clause
"""What earlier tunes are worth to a new one, on families of surfaces that shift and stretch, whose best settings are known.

Each new tune is of a member of a family, and starts from one, two or three tunes of other members (in turn), or from none. Regret
is the noiseless time of its candidate over that of the best in the whole space, less one, median over seeds. "half" has
half the runs of the tune that starts from none; where what is earlier misleads, "more" has a fifth more runs than that one. In what
does not matter at all, "faster" is an error. Beside them stands GPTune's multitask learning, where it is installed: from as many
tunes of its own of the same members, with the same runs, and from none.

`python -m benchmarks transfer [--seeds 12] [--peer-seeds 3] [--only NAME,…]`; more seeds judge a change. GPTune takes about a minute
a member, of as many as ours unless told otherwise; 0 leaves it out.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _gptune
from benchmarks._cases import Case, Pretending
from benchmarks._families import Family, families, flat_family
from nodewise.experiments.progress import Progress
from nodewise.experiments.tune import Tuner
from nodewise.experiments.tune_question import Question
from nodewise.history.learned import settings_seen
from nodewise.records.earlier import SAME_PROGRAM, Earlier, Width, width_of
from nodewise.records.experiment import read_experiment
from nodewise.search.space import Axis, Point, Space
from nodewise.statistics.verdict import Word
from nodewise.tuning.prior import COUNTED, as_here
from nodewise.verdicts.tune import TuneVerdict

#: Members of a family from this number on are what earlier tunes are of.
_EARLIER = 1000
#: How far a regret may be above another one, in points, and count as the same.
SAME = 0.1


@dataclass
class Outcome:
    """One tune: its verdict, the regret of its candidate in per cent, and that of its leader over the runs."""

    result: TuneVerdict
    candidate: float
    trace: list[tuple[int, float]]


def transferred(one: Case, best: float, seed: int, runs: int, folder: str, earlier: Sequence[Earlier] = ()) -> Outcome:
    """Run the real tune on a member; `best` is the noiseless time of its best setting."""
    launcher = Pretending(one, 5000 + seed)

    def regret(key: str) -> float:
        return min(1e4, 100 * (launcher.truth[key] / best - 1))

    trace: list[tuple[int, float]] = []

    def observe(progress: Progress) -> None:
        if progress.leader in launcher.truth:
            trace.append((progress.runs, regret(progress.leader)))

    out = Path(tempfile.mkdtemp(dir=folder)) / "x"
    question = Question(
        one.command, one.machine, one.axes, out, one.budget(runs), seed=seed, environment={}, wanted=one.wanted
    )
    tuner = Tuner(question, launcher, observe, clock=launcher.clock, recall=lambda _: earlier)
    result = tuner.run()
    return Outcome(result, regret(result.candidate), trace)


@cache
def _earlier(family: str, k: int, folder: str) -> Earlier:
    """What a tune of another member left."""
    from_family = next(f for f in [*families(), flat_family()] if f.name == family)
    one = from_family.earlier(_EARLIER + k)
    outcome = transferred(one, one.baseline, _EARLIER + k, from_family.runs, folder)
    return left_by(outcome.result, one)


def left_by(result: TuneVerdict, one: Case) -> Earlier:
    """What a tune leaves to later ones, as history keeps it."""
    experiment = read_experiment(Path(result.experiment))
    here, width = False, width_of(one.machine)
    defaults, seen = experiment.question["defaults"], settings_seen(experiment)
    began = "2026-01-01T00:00:00+00:00"
    return Earlier(one.name, "another", began, SAME_PROGRAM, here, width, defaults, seen)


def _median(outcomes: Sequence[Outcome]) -> float:
    return float(np.median([o.candidate for o in outcomes]))


def _reached(outcomes: Sequence[Outcome], regret: float, most: int) -> int | None:
    """After how many runs the median regret of what leads is at most so much, and stays there; None: never."""
    found = None
    for at in range(1, most + 1):
        now = [next((r for n, r in reversed(o.trace) if n <= at), 1e4) for o in outcomes]
        below = float(np.median(now)) <= regret
        found = found or at if below else None
    return found


def judge(family: Family, seeds: int, folder: str) -> None:
    """Print a family's lines."""
    with_none, with_some, spread = [], [], [0.5, 1.0, 1.2]
    cases = [family.member(k) for k in range(seeds)]
    bests = [one.best(family.runs) for one in cases]
    priors = [[_earlier(family.name, 3 * k + i, folder) for i in range(1 + k % 3)] for k in range(seeds)]
    each = list(zip(cases, bests, range(seeds), strict=True))
    with_none = [transferred(one, best, k, family.runs, folder) for one, best, k in each]
    _line(family.name, family.runs, "from none", with_none)
    base = _median(with_none)
    if not family.misleads:
        half = [transferred(one, best, k, family.runs // 2, folder) for one, best, k in each]
        _line(family.name, family.runs // 2, "from none", half)
    for share in spread:
        if share == (0.5 if family.misleads else 1.2):
            continue
        runs = int(share * family.runs)
        with_some = [transferred(one, best, k, runs, folder, priors[k]) for one, best, k in each]
        held = "the same or less" if _median(with_some) <= base + SAME else "more"
        _line(family.name, runs, "from history" + (", misleading" * family.misleads), with_some, held)
        if share == 1.0:
            before, after = (_reached(o, base + SAME, family.runs) for o in (with_none, with_some))
            print(
                f"{'':<21}the leader's median regret is {base + SAME:.2f} % after {before or '–'} runs, {after or '–'} from history"
            )


@dataclass
class Asked:
    """What a peer is asked of a member: its space, and what a run of one of its points takes."""

    one: Case
    runs: int
    seed: int

    def __post_init__(self) -> None:
        self._options, self._worst = self.one.options(self.runs), 3 * self.one.baseline
        self._launcher = Pretending(self.one, 5000 + self.seed)

    @property
    def space(self) -> Space:
        """What it may choose from."""
        return self._options.space

    def measure(self, point: Point) -> float:
        """Seconds of a run; one that fails or takes too long takes three times the baseline's."""
        sample = self._launcher.run(self._options.setting(point), timeout_s=self._worst)
        return sample.seconds if sample.ok else self._worst

    def regret(self, point: Point, best: float) -> float:
        """In per cent."""
        return min(1e4, 100 * (self.one.seconds(self._options.setting(point)) / best - 1))


@cache
def _peers_earlier(family: str, k: int) -> tuple[_gptune.Measured, Width]:
    """What GPTune measured of another member, from none."""
    from_family = next(f for f in families() if f.name == family)
    asked = Asked(from_family.earlier(_EARLIER + k), from_family.runs, _EARLIER + k)
    return _gptune.multitask(asked.space, asked.measure, asked.runs, asked.seed), width_of(asked.one.machine)


def _moved(measured: _gptune.Measured, there: Width, space: Space, here: Width) -> _gptune.Measured:
    """What was measured on a machine so wide, as points of this space: as many threads as are the same share of the machine."""

    def value(axis: Axis, found: Any) -> Any:
        wanted = as_here(found, there, here) if axis.name in COUNTED else None
        return found if wanted is None else min(axis.values, key=lambda v: abs(v - wanted))

    return [(Point({a.name: value(a, point[a.name]) for a in space.open}), log) for point, log in measured]


def _fastest(measured: _gptune.Measured) -> Point:
    """What it ends with: the point of the lowest median."""
    return min(measured, key=lambda one: one[1])[0]


def judge_peer(family: Family, seeds: int) -> None:
    """Print GPTune's lines of a family."""
    half = family.runs // 2
    none: list[float] = []
    some: dict[int, list[float]] = {half: [], family.runs: []}
    for k in range(seeds):
        one = family.member(k)
        best = one.best(family.runs)
        asked = Asked(one, family.runs, k)
        here, priors = width_of(one.machine), [_peers_earlier(family.name, 3 * k + i) for i in range(1 + k % 3)]
        alone = _gptune.multitask(asked.space, asked.measure, asked.runs, k)
        none.append(asked.regret(_fastest(alone), best))
        asked = Asked(one, family.runs, k)
        earlier = [_moved(measured, there, asked.space, here) for measured, there in priors]
        found = _gptune.multitask(asked.space, asked.measure, asked.runs, k, earlier)
        # it does not know how many runs are left: with half of them it does the same until there
        for runs, regrets in some.items():
            regrets.append(asked.regret(_fastest(found[: runs // _gptune.RUNS_A_POINT]), best))
    for runs, start, regrets in ((family.runs, "none", none), *((n, "history", r) for n, r in some.items())):
        print(f"{family.name:<21}{runs:>5}  {f'GPTune, from {start}':<26}{_spread(regrets)}", flush=True)


def _spread(regrets: Sequence[float]) -> str:
    return f"{np.median(regrets):>7.2f} %{np.quantile(regrets, 0.9):>8.2f} %"


def _line(name: str, runs: int, start: str, outcomes: Sequence[Outcome], held: str = "") -> None:
    regrets = [o.candidate for o in outcomes]
    words = Counter(o.result.verdict.value for o in outcomes)
    used = np.mean([o.result.runs for o in outcomes])
    said = ", ".join(f"{word} {count}" for word, count in words.most_common())
    print(
        f"{name:<21}{runs:>5}  {start:<26}{_spread(regrets)}   {held:<17} {said}; {used:.0f} used",
        flush=True,
    )


def honest(seeds: int, folder: str) -> None:
    """How often something is said to be faster where nothing is, and earlier tunes say the opposite."""
    family = flat_family()
    words: Counter[Word] = Counter()
    for k in range(seeds):
        one = family.member(k)
        priors = [_earlier(family.name, 3 * (k % 12) + i, folder) for i in range(1 + k % 3)]
        words[transferred(one, one.baseline, k, family.runs, folder, priors).result.verdict] += 1
    wrong = words[Word.FASTER] + words[Word.SLOWER]
    said = ", ".join(f"{word.value} {count}" for word, count in words.most_common())
    print(f"{family.name}, misled by history: {wrong} of {seeds} wrong ({said}); 5 % are allowed")


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks transfer")
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--null-seeds", type=int, default=60)
    parser.add_argument("--peer-seeds", type=int)
    parser.add_argument("--only", default="")
    return parser.parse_args(list(words))


def main(*words: str) -> None:
    """Print the table."""
    asked = _options(words)
    begin = time.perf_counter()
    wanted = set(filter(None, asked.only.split(",")))
    print(f"{'family':<21}{'runs':>5}  {'starts':<26}{'median':>9}{'90 %':>10}   regret, {asked.seeds} members each")
    peers = asked.seeds if asked.peer_seeds is None else asked.peer_seeds
    missing = _gptune.absent()
    with tempfile.TemporaryDirectory() as folder:
        for family in families():
            if not wanted or family.name in wanted:
                judge(family, asked.seeds, folder)
                if peers and not missing:
                    judge_peer(family, peers)
        if not wanted:
            honest(asked.null_seeds, folder)
    if peers and missing:
        print(missing)
    elif peers and peers != asked.seeds:
        print(f"of GPTune {peers} members each")
    print(f"{time.perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
