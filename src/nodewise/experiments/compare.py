# SPDX-License-Identifier: BSD-3-Clause
"""compare: several commands in random interleaved blocks, until an interval says a word of each or the budget ends."""

from __future__ import annotations

import os
import random
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError, ProgramError
from nodewise.experiments.contenders import Contender
from nodewise.experiments.tune import Progress
from nodewise.machine.model import Machine
from nodewise.records.budget import Budget, Meter
from nodewise.records.experiment import Writer, inherited_facts, read_experiment
from nodewise.records.recorder import Recorder
from nodewise.runner.launcher import Launcher
from nodewise.runner.objective import SECONDS, Objective, Shown
from nodewise.runner.same_output import ANY_OUTPUT, SameOutput
from nodewise.runner.sample import Sample
from nodewise.statistics.compare import ratio_interval
from nodewise.statistics.spoiled import repeat_worthy, repeats_due
from nodewise.statistics.summary import Running
from nodewise.statistics.verdict import is_settled, judge
from nodewise.verdicts.compare import COMPARE, WARM_UP, comparisons, looks_of, weigh


@dataclass(frozen=True)
class CompareQuestion:
    """What is asked: which of `contenders` is faster, the first one being the reference.

    `fewest` and `most` bound the runs of each (a block that was disturbed is kept, and another one made besides); `within` is the difference that counts as none. `threshold` is a slowdown
    (0.02: 2 %) of which has to be said whether it is exceeded. `same` is what of the output has to be as the reference's. `resume`: go on with what `out` holds.
    """

    contenders: tuple[Contender, ...]
    machine: Machine
    out: Path
    budget: Budget = field(default_factory=lambda: Budget(60.0))
    fewest: int = 1
    most: int | None = None
    warmup: int = 1
    within: float = 0.01
    threshold: float | None = None
    seed: int = 0
    timeout_s: float | None = None
    cwd: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    asked: tuple[str, ...] = ()
    objective: Objective = SECONDS
    shown: Shown = field(default_factory=Shown)
    resume: bool = False
    same: SameOutput = ANY_OUTPUT

    def to_json(self) -> dict[str, Any]:
        """What `question.json` holds."""
        return {
            "kind": COMPARE,
            "contenders": [
                {"name": c.setting.name, "text": c.text, "shell": c.shell, "steps": asdict(c.steps)}
                for c in self.contenders
            ],
            "command": [c.text for c in self.contenders],
            "budget": {"seconds": self.budget.seconds, "runs": self.budget.runs},
            "within": self.within,
            "threshold": self.threshold,
            "warmup": self.warmup,
            "seed": self.seed,
            "objective": asdict(self.objective),
            "shown": asdict(self.shown),
            "same_output": self.same.to_json(self.contenders[0].setting.key),
            "axes": {},
            **inherited_facts(self.machine, self.environment, self.asked),
        }


class Comparer:
    """One comparison, from the setup of its commands to the verdict."""

    def __init__(
        self, question: CompareQuestion, launcher: Launcher, observe: Callable[[Progress], None] = lambda _: None
    ):
        names = [c.setting.key for c in question.contenders]
        if len(names) != len(set(names)):
            raise InputError("two commands have one name", "give each its own --command-name")
        self._question = question
        self._launcher = launcher
        self._observe = observe
        self._meter = Meter(question.budget)
        self._random = random.Random(question.seed)
        self._costs: dict[str, dict[int, float]] = {name: {} for name in names}
        self._centres = {name: Running() for name in names}
        self._failed: dict[str, str] = {}
        self._set_up: list[Contender] = []
        self._left: list[str] = []
        self._block = 0
        self._disturbed = 0
        self._spoiled = False

    def run(self) -> dict[str, Any]:
        """Measure and judge; the verdict as `compare --json` prints it. Ctrl-C ends with what there is.

        Raises ProgramError where a command or a step around it fails at its first run, StoreError where the experiment
        cannot be written.
        """
        question = self._question
        stopped = "decided"
        with Writer(question.out, None if question.resume else question.to_json()) as writer:
            self._recorder = Recorder(writer, self._launcher, self._meter, writer.earlier)
            try:
                with self._cleaned_up():
                    stopped = self._measure()
            except KeyboardInterrupt:
                if any(len(c) < 1 for c in self._costs.values()):
                    self._give_up(writer)
                    raise
                stopped = "interrupted"
            except (ProgramError, InputError) as problem:
                if not all(self._costs.values()):
                    self._give_up(writer)
                else:
                    problem.hint = f"{problem.hint or 'mend it'}; what was measured is kept: --resume {question.out}"
                raise
            verdict = weigh(read_experiment(question.out), stopped)
            verdict["warnings"] += dict.fromkeys(self._left)
            writer.conclude(verdict)
        return verdict

    @staticmethod
    def _give_up(writer: Writer) -> None:
        if writer.earlier is None:
            writer.discard()

    @contextmanager
    def _cleaned_up(self) -> Iterator[None]:
        """Whatever was set up is cleaned up, however the runs end; one that cannot be is no reason to lose what was measured."""
        try:
            yield
        finally:
            for contender in self._set_up:
                try:
                    self._step(contender, "cleanup")
                except ProgramError as problem:
                    self._left.append(problem.what)

    def _step(self, contender: Contender, which: str) -> None:
        """One of the shell commands around the runs. Raises ProgramError where it fails."""
        text = getattr(contender.steps, which)
        if text is None:
            return
        shell = shlex.split(contender.shell or "sh")
        try:
            done = subprocess.run(
                [*shell, "-c", text],
                cwd=self._question.cwd,
                env=dict(self._question.environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        except OSError as problem:
            raise ProgramError(
                f"--{which} cannot be run by {shell[0]}: {problem.strerror}", "name a --shell"
            ) from problem
        if done.returncode:
            printed = (done.stdout + done.stderr).rstrip()
            raise ProgramError(
                f"--{which} failed with exit code {done.returncode}: {text}" + (f"\n{printed}" if printed else ""),
                "it must succeed; end it with `|| true` where its failure does not matter",
            )

    def _measure(self) -> str:
        question = self._question
        for _ in range(question.warmup):
            self._run_block(WARM_UP)
        blocks = 0
        pairs = comparisons([c.setting.key for c in question.contenders])
        while True:
            begin = self._meter.seconds
            self._run_block(COMPARE)
            blocks += 1
            running = [c for c in question.contenders if c.setting.key not in self._failed]
            if len(running) < min(2, len(question.contenders)) or self._failed.keys() & {self._reference}:
                return "failed"
            # a disturbed block is kept, and another one is made besides
            if question.most is not None and blocks >= question.most + repeats_due(self._disturbed, blocks):
                return "runs"
            if blocks >= question.fewest and looks_of(len(pairs)).due(blocks) and self._settled(blocks, len(pairs)):
                return "decided"
            cost = self._meter.seconds - begin
            # a first block that alone is longer than the budget is still a comparison, but no interval
            if self._meter.affordable(cost / len(running)) < len(running) and blocks >= question.fewest:
                return "budget"

    @property
    def _reference(self) -> str:
        return self._question.contenders[0].setting.key

    def _run_block(self, phase: str) -> None:
        """Every contender that has not failed once, in random order."""
        order = [c for c in self._question.contenders if c.setting.key not in self._failed]
        self._random.shuffle(order)
        self._block += 1
        self._spoiled = False
        for position, contender in enumerate(order):
            self._run_one(contender, phase, position)
        self._disturbed += self._spoiled
        self._report(phase)

    def _run_one(self, contender: Contender, phase: str, position: int) -> None:
        key = contender.setting.key

        def before() -> None:
            if contender not in self._set_up:
                self._set_up.append(contender)
                self._step(contender, "setup")
            self._step(contender, "prepare")

        around = (before, lambda: self._step(contender, "conclude"))
        sample, _ = self._recorder.sample(
            contender.setting, phase, self._block, position, self._question.timeout_s, around
        )
        judged = self._question.objective.judged(sample)
        if not judged.ok:
            self._take_failure(contender, judged)
        elif phase == COMPARE:
            self._spoiled = self._spoiled or repeat_worthy(sample.marks)
            self._costs[key][self._block] = judged.seconds
            self._centres[key].add(judged.seconds)

    def _take_failure(self, contender: Contender, sample: Sample) -> None:
        """A command that never ran well is bad input; one that fails later is left out, and its row says so."""
        key = contender.setting.key
        if not self._costs[key]:
            printed = f"; it printed:\n{sample.output.rstrip()}" if sample.output.strip() else ""
            hint = (
                "with --ignore-failure its exit code does not matter" if "exit code" in (sample.error or "") else None
            )
            raise ProgramError(f"{contender.text}: {sample.error}{printed}", hint)
        self._failed[key] = str(sample.error)

    def _settled(self, blocks: int, pairs: int) -> bool:
        """Whether a word can be said of each contender against the reference, and its size is told well enough."""
        level = looks_of(pairs).level(blocks)
        reference = self._costs[self._reference]
        for contender in self._question.contenders[1:]:
            costs = self._costs[contender.setting.key]
            if contender.setting.key in self._failed:
                continue
            both = sorted(reference.keys() & costs.keys())
            ratio = ratio_interval([reference[b] for b in both], [costs[b] for b in both], level)
            verdict = judge(ratio, self._question.within)
            threshold = self._question.threshold
            at_threshold = threshold is not None and ratio.low * (1 + threshold) <= 1 <= ratio.high * (1 + threshold)
            if not is_settled(verdict) or at_threshold:
                return False
        return len(self._question.contenders) > 1 or blocks >= 10

    def _report(self, phase: str) -> None:
        centres = {key: centre.median for key, centre in self._centres.items() if len(centre)}
        if not centres:
            self._observe(Progress(phase, self._meter.runs, self._meter.seconds))
            return
        leader = min(centres, key=lambda key: centres[key])
        first = centres.get(self._reference)
        speedup = first / centres[leader] if first and leader != self._reference else None
        self._observe(Progress(phase, self._meter.runs, self._meter.seconds, leader, speedup, len(centres)))


def compare(
    question: CompareQuestion, launcher: Launcher, observe: Callable[[Progress], None] = lambda _: None
) -> dict[str, Any]:
    """Answer a question: see `Comparer.run`."""
    return Comparer(question, launcher, observe).run()
