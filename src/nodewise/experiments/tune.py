# SPDX-License-Identifier: BSD-3-Clause
"""tune: search the settings of a program on a machine, then confirm the best one on fresh runs against the baseline."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError, ProgramError
from nodewise.base.units import format_seconds
from nodewise.experiments.blocks import Arm, Blocks
from nodewise.experiments.progress import Progress
from nodewise.machine.model import Machine
from nodewise.records.budget import Budget, Meter
from nodewise.records.experiment import Plan, Writer, inherited_facts, read_experiment
from nodewise.records.recorder import Recorder
from nodewise.runner.launch import Start
from nodewise.runner.launcher import Launcher
from nodewise.runner.objective import SECONDS, Objective, Shown
from nodewise.runner.same_output import SameOutput
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.search.guided import GuidedSearch
from nodewise.search.space import Point
from nodewise.statistics.compare import ratio_interval
from nodewise.statistics.sequential import FEWEST_BLOCKS, plan_looks
from nodewise.statistics.summary import Running, median
from nodewise.statistics.verdict import is_settled, judge
from nodewise.tuning.axes import Wanted
from nodewise.tuning.builds import Builder
from nodewise.tuning.outline import Outline
from nodewise.tuning.selection import Offer
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.tune import TuneVerdict, tune_verdict

#: The fewest runs that can end in a verdict: a first one, two blocks of a small search, and the confirmation.
FEWEST_RUNS = 1 + 2 * 2 + 2 * FEWEST_BLOCKS
#: How many standard errors the gain should lie above none after the confirmation.
_SURE = 3.5
#: A gain of at least this (in log time) may leave the confirmation fewer runs than a small one has.
_CLEAR_GAIN = 0.08
#: What the confirmation may take of all runs at most: the one where a run's time varies as usual, up to the other.
_CONFIRM_SHARES, _USUAL_NOISE = (0.5, 0.68), 0.01
_MOST_BLOCKS = 400
#: In how many blocks after the comparison the candidate also runs with one axis put back.
_ABLATION_BLOCKS = 6
#: So many of those blocks are kept from the comparison where the gain is clear, at a quarter of its runs at most: a gain
#: whose cause is not known is half an answer.
_KEPT_BLOCKS = 2
#: So many runs are kept for the confirmation, or a quarter of all, however clear the gain looks.
_CONFIRM_RUNS = 60
#: In the search a run may take this many times the baseline's time, and a little for the start, before it is cut off.
_PATIENCE, _PATIENCE_S = 3.0, 0.5


@dataclass(frozen=True)
class Question:
    """What is asked: the fastest way to run `command` on `machine`, over `axes`, within a budget.

    `within` is the difference that counts as none (0.01: 1 %), `out` the experiment's directory, `asked` the command
    line that repeats the question, `environment` what programs inherit, `start` what its user gave of that, `same` what of a
    setting's output has to be as the baseline's. `resume`: go on with what `out` holds. Without `axes` they are chosen by what
    the program loads; `wanted` are axes of the user's own. With `accept_disturbed` blocks decide that something disturbed, too.
    """

    command: tuple[str, ...]
    machine: Machine
    axes: tuple[str, ...] | None
    out: Path
    budget: Budget = field(default_factory=Budget)
    within: float = 0.01
    seed: int = 0
    timeout_s: float | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    asked: tuple[str, ...] = ()
    objective: Objective = SECONDS
    shown: Shown = field(default_factory=Shown)
    resume: bool = False
    wanted: Wanted = field(default_factory=Wanted)
    start: Start = field(default_factory=Start)
    same: SameOutput = field(default_factory=SameOutput)
    accept_disturbed: bool = False

    def to_json(self) -> dict[str, Any]:
        """What `question.json` holds; of the environment only what bears on threads and memory."""
        return {
            "kind": "tune",
            "command": list(self.command),
            "axes": {},
            "wanted": asdict(self.wanted),
            "start": self.start.to_json(),
            "budget": {"seconds": self.budget.seconds, "runs": self.budget.runs},
            "within": self.within,
            "accept_disturbed": self.accept_disturbed,
            "objective": asdict(self.objective),
            "shown": asdict(self.shown),
            "same_output": self.same.to_json("baseline"),
            "seed": self.seed,
            **inherited_facts(self.machine, self.environment, self.asked),
        }


class Tuner:
    """One tune, from the first run to the verdict."""

    def __init__(
        self,
        question: Question,
        launcher: Launcher,
        observe: Callable[[Progress], None] = lambda _: None,
        before_block: Callable[[], None] = lambda: None,
        announce: Callable[[Outline], None] = lambda _: None,
    ):
        """`announce` is told what will be done, once that is known; `before_block` may wait for quiet."""
        self._question = question
        self._announce = announce
        self._launcher = launcher
        self._observe = observe
        self._before_block = before_block
        self._offer = Offer(question.machine, question.command, question.axes, question.environment, question.wanted)
        folder = Path(question.start.cwd) if question.start.cwd else None
        self._offer.builder = Builder(question.out / "builds", question.command[0], folder, question.environment)
        self._offer.folder = question.out / "launch"
        self._options = self._offer.before_the_first_run()
        self._baseline = Setting(command=question.command)
        self._random = random.Random(question.seed)
        self._meter = Meter(question.budget)
        self._times: dict[str, Running] = {}
        self._costs: dict[str, list[float]] = {}
        self._slowest_s = 0.0
        self._searched: dict[str, list[Sample]] = {}

    def run(self) -> TuneVerdict:
        """Ask, search, confirm and conclude. Ctrl-C ends with the best so far.

        Raises ProgramError where the baseline does not run, InputError where the budget cannot decide anything,
        StoreError where the experiment cannot be written.
        """
        question = self._question
        limit = question.budget.runs
        if limit is not None and limit < FEWEST_RUNS:
            raise InputError(f"{limit} runs are too few for a verdict", f"give --max-runs {FEWEST_RUNS} or more")
        stopped = "decided"
        with Writer(question.out, None if question.resume else question.to_json()) as self._writer:
            self._begin()
            try:
                ranking = self._search()
                stopped = self._confirm(ranking)
            except KeyboardInterrupt:
                stopped = "interrupted"
            verdict = tune_verdict(read_experiment(question.out), stopped)
            self._writer.conclude(encode(verdict))
        return verdict

    def preview(self) -> Outline:
        """What `run` would do: one run of the program, and nothing of it is kept. Raises as `run` does."""
        with Writer(self._question.out, self._question.to_json()) as self._writer:
            self._begin()
            self._writer.discard()
        return self._outline()

    def _begin(self) -> None:
        """The first run and the axes; where that fails nothing is left behind of a new experiment."""
        recorder = Recorder(self._writer, self._launcher, self._meter, self._writer.earlier, self._question.budget)
        self._blocks = Blocks(recorder, self._meter, self._random, self._question.objective, self._before_block)
        try:
            self._first_run()
            self._choose_axes()
        except (ProgramError, InputError, KeyboardInterrupt):
            if self._writer.earlier is None:
                self._writer.discard()
            raise
        self._announce(self._outline())

    def _outline(self) -> Outline:
        space, budget = self._options.space, self._question.budget
        cost = self._costs["baseline"][0]
        runs = 1 + self._meter.affordable(cost)
        # nothing but what was left out says why an axis has but one value
        seconds = budget.seconds if budget.runs is None else min(budget.seconds or math.inf, budget.runs * cost)
        return Outline(space.open, self._offer.left_out(), self._options.way.why, cost, runs, seconds, space.size)

    def _setting(self, point: Point) -> Setting:
        return self._options.setting(point)

    def _take(self, key: str, sample: Sample, cost: float) -> None:
        """Learn what a run cost, and its time where it ran well."""
        self._costs.setdefault(key, []).append(cost)
        if key == "baseline":
            self._slowest_s = max(self._slowest_s, cost)
        if sample.ok:
            self._times.setdefault(key, Running()).add(sample.seconds)

    def _run_block(self, settings: Sequence[Setting], phase: str, timeout_s: float | None) -> dict[str, Sample]:
        """Every setting once, in random order."""
        block = self._blocks.run([Arm(s, timeout_s) for s in settings], phase)
        for key, sample in block.samples.items():
            self._take(key, sample, block.costs[key])
        return dict(block.samples)

    def _report(self, phase: str, leader: Setting | None, racing: int) -> None:
        base, mine = self._times.get("baseline"), self._times.get(leader.key) if leader else None
        speedup = base.median / mine.median if base and mine else None
        name = leader.key if leader else None
        self._observe(Progress(phase, self._meter.runs, self._meter.seconds, name, speedup, racing))

    def _first_run(self) -> None:
        """One run of the baseline: does it work, and what does a run cost."""
        self._report("first run", None, 0)
        self._baseline = self._options.baseline()
        with self._offer.watching(self._launcher, self._baseline):
            sample, cost = self._blocks.alone(Arm(self._baseline, self._question.timeout_s), "warm-up")
        self._take(self._baseline.key, sample, cost)
        self._offer.used(sample.usage)
        if not sample.ok:
            shown = f"; it printed:\n{sample.output.rstrip()}" if sample.output.strip() else ""
            raise ProgramError(
                f"the program does not run as it is: {sample.error}{shown}",
                "it must succeed before it can be tuned"
                + ("" if self._question.start.stdin else "; it has no terminal, and input only by --input FILE"),
            )
        if sample.seconds <= 0:
            raise ProgramError(f"the program reports {sample.seconds} seconds", "only times above zero can be compared")
        if self._meter.affordable(cost) < FEWEST_RUNS - 1:
            enough = format_seconds(cost * FEWEST_RUNS * 1.2)
            raise InputError(
                f"the budget is too small: one run takes {format_seconds(cost)}, a verdict needs {FEWEST_RUNS} runs",
                f"give --budget {enough.replace(' ', '')} or more, or a smaller input",
            )

    def _choose_axes(self) -> None:
        """The axes, now that it is known what the program loads; a resumed tune takes those of then."""
        earlier = self._writer.earlier.question if self._writer.earlier is not None else {}
        if "loaded" in earlier:
            self._offer.recall(earlier["loaded"])
        self._options = self._offer.after_the_first_run(self._meter.affordable(self._costs["baseline"][0]))
        space = self._options.space
        if not space.axes:
            raise InputError("there is no axis to search", "name some with --axes, -P or --env-axis")
        if "loaded" not in earlier:
            axes = {a.name: list(a.values) for a in space.axes}
            self._writer.amend({"axes": axes, "loaded": self._offer.loaded_json, "knobs": self._offer.reasons()})

    def _patience(self) -> float:
        most = _PATIENCE * self._slowest_s + _PATIENCE_S
        own = self._question.timeout_s
        return most if own is None else min(own, most)

    def _search(self) -> list[Point]:
        space = self._options.space
        search = GuidedSearch(space, self._question.seed, self._offer.first_guesses(space.default))
        leader: Setting | None = None
        while True:
            recent = [c[-1] for c in self._costs.values()]
            left = self._meter.affordable(sum(recent) / len(recent))
            points = search.ask(max(0, left - self._reserve(leader, search.noise, left + self._meter.runs) - 1))
            if not points:
                return search.ranking
            settings = {p: self._setting(p) for p in points}
            # the baseline runs along in wide blocks, to show drift and what the leader gains so far
            along = [self._baseline] if len(points) > 3 else []
            samples = self._run_block([*settings.values(), *along], "search", self._patience())
            search.tell({p: samples[s.key].seconds if samples[s.key].ok else None for p, s in settings.items()})
            ranking = search.ranking
            leader = self._setting(ranking[0]) if ranking else None
            self._report("search", leader, len(points))

    def _reserve(self, leader: Setting | None, noise: float, total: int) -> int:
        """How many of all runs the confirmation needs: few for a large gain, as many as it may have for a small one."""
        least_share, most_share = _CONFIRM_SHARES
        share = min(most_share, least_share * max(1.0, noise / _USUAL_NOISE))
        most = max(2 * FEWEST_BLOCKS, int(total * share))
        base, mine = self._times["baseline"], self._times.get(leader.key) if leader else None
        if mine is None or len(base) < 3 or len(mine) < 3:
            return most
        noise = max(noise, 1.4826 * max(base.mad / base.median, mine.mad / mine.median))
        # the baseline at its best, since runs only ever stray to the slow side
        gain = math.log(base.least / mine.median) - 2 * noise * math.sqrt(1.6 / len(mine))
        if gain < _CLEAR_GAIN:
            return most
        blocks = 2 * (_SURE * noise / gain) ** 2
        least = max(2 * FEWEST_BLOCKS + 4, min(_CONFIRM_RUNS, int(total * share / 2)))
        return int(min(most, max(least, 2 * blocks)))

    def _confirm(self, ranking: Sequence[Point]) -> str:
        """Fresh interleaved blocks of the baseline and the best; the next best where that one fails after all."""
        for point in ranking:
            stopped = self._confirm_one(point)
            if stopped is not None:
                return stopped
        return "nothing ran"

    def _ablations(self, point: Point) -> dict[str, Setting]:
        """For each axis that the point changes, the point with that axis as the baseline has it."""
        default = self._options.space.default
        arms: dict[str, Setting] = {}
        for name, value in point.items():
            other = point.having(**{name: default[name]})
            if value != default[name] and self._options.space.identity(other) != self._options.space.identity(point):
                arms[name] = self._setting(other)
        return arms

    def _kept_for_ablation(self, candidate: Setting, arms: int, affordable: int) -> int:
        """How many of the affordable runs the comparison leaves, to tell apart what a clear gain is from."""
        base, mine = self._times.get("baseline"), self._times.get(candidate.key)
        if not arms or base is None or mine is None or math.log(base.median / mine.median) < _CLEAR_GAIN:
            return 0
        return min(_KEPT_BLOCKS, affordable // 4 // (1 + arms)) * (1 + arms)

    def _confirm_one(self, point: Point) -> str | None:
        """What ended it (`decided` or `budget`), or None where the candidate failed."""
        candidate = self._setting(point)
        arms = self._ablations(point)
        pair = sum(median(self._costs[s.key]) for s in (self._baseline, candidate) if s.key in self._costs)
        kept = self._kept_for_ablation(candidate, len(arms), self._meter.affordable(pair / 2))
        blocks = min(_MOST_BLOCKS, (self._meter.affordable(pair / 2) - kept) // 2)
        if blocks < FEWEST_BLOCKS:
            return "budget"
        looks = plan_looks(blocks)
        self._writer.add_plan(Plan(candidate.key, looks.at, looks.alpha, {n: s.key for n, s in arms.items()}))
        baseline: list[float] = []
        times: list[float] = []
        stopped = "budget"
        for done in range(1, blocks + 1):
            samples = self._run_block([self._baseline, candidate], "confirm", self._question.timeout_s)
            if not samples[candidate.key].ok:
                return None
            if samples["baseline"].ok:
                baseline.append(samples["baseline"].seconds)
                times.append(samples[candidate.key].seconds)
            self._report("confirm", candidate, 2)
            if done in looks.at and baseline and self._decided(baseline, times, looks.level):
                stopped = "decided"
                break
            if self._meter.affordable(pair / 2) < 2 + kept:
                break
        faster = bool(baseline) and median(times) < median(baseline)
        return stopped if not arms or not faster or self._ablate(candidate, arms, pair / 2) else None

    def _ablate(self, candidate: Setting, arms: Mapping[str, Setting], cost: float) -> bool:
        """With what the comparison left: the candidate beside itself with one axis put back. False where it failed."""
        for _ in range(_ABLATION_BLOCKS):
            if self._meter.affordable(cost) < 1 + len(arms):
                break
            samples = self._run_block([candidate, *arms.values()], "confirm", self._question.timeout_s)
            if not samples[candidate.key].ok:
                return False
        return True

    def _decided(self, baseline: Sequence[float], times: Sequence[float], level: float) -> bool:
        """Whether the interval says a word, and where that is "faster", how much to a tenth of the gain."""
        return is_settled(judge(ratio_interval(baseline, times, level), self._question.within))


def preview(question: Question, launcher: Launcher) -> Outline:
    """What a tune would do: see `Tuner.preview`."""
    return Tuner(question, launcher).preview()


def tune(
    question: Question,
    launcher: Launcher,
    observe: Callable[[Progress], None] = lambda _: None,
    before_block: Callable[[], None] = lambda: None,
    announce: Callable[[Outline], None] = lambda _: None,
) -> TuneVerdict:
    """Answer a question: see `Tuner.run`; `before_block` is called before each block and may wait for quiet.

    `announce` is told what will be done, once that is known.
    """
    return Tuner(question, launcher, observe, before_block, announce).run()
