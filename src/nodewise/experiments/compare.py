# SPDX-License-Identifier: BSD-3-Clause
"""compare: several commands in random interleaved blocks, until an interval says a word of each or the budget ends."""

from __future__ import annotations

import os
import random
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError, ProgramError
from nodewise.experiments.blocks import Arm, Block, Blocks, Stop
from nodewise.experiments.contenders import Contender
from nodewise.experiments.progress import Progress
from nodewise.machine.model import Machine
from nodewise.records.budget import Budget, Meter
from nodewise.records.experiment import Writer, inherited_facts, read_experiment
from nodewise.records.recorder import Recorder
from nodewise.runner.launcher import Launcher
from nodewise.runner.objective import SECONDS, Objective, Shown
from nodewise.runner.same_output import ANY_OUTPUT, SameOutput
from nodewise.runner.sample import Sample
from nodewise.statistics.compare import Ratio
from nodewise.statistics.sequential import OpenLooks
from nodewise.statistics.spoiled import Met
from nodewise.statistics.summary import Running
from nodewise.statistics.verdict import is_settled
from nodewise.verdicts.compare import (
    COMPARE,
    WARM_UP,
    CompareVerdict,
    compare_verdict,
    comparisons,
    looks_of,
)
from nodewise.verdicts.disturbed import PhaseMet, met_of
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.pair import Pairs, judge_pairs

#: So many runs of a command that stands alone are enough.
_ALONE = 10


@dataclass(frozen=True)
class CompareQuestion:
    """What is asked: which of `contenders` is faster, the first one being the reference.

    `fewest` and `most` bound the runs of each (a block that was disturbed is kept, and another one made besides); `within` is the difference that counts as none. `threshold` is a slowdown
    (0.02: 2 %) of which has to be said whether it is exceeded. `same` is what of the output has to be as the reference's.
    `resume`: go on with what `out` holds. With `accept_disturbed` blocks decide that something disturbed, too. `kind` is
    `run` where one command stands alone, `confirm` where a promise is repeated. More blocks are made while it is open on
    which side of the ratio `apart` the others lie. That one of `may_fail` never runs well is an answer, and no bad input.
    `more` is stored with the question.
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
    accept_disturbed: bool = False
    kind: str = COMPARE
    apart: float | None = None
    may_fail: frozenset[str] = frozenset()
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """What `question.json` holds."""
        return {
            "kind": self.kind,
            "contenders": [
                {"name": c.setting.name, "text": c.text, "shell": c.shell, "steps": asdict(c.steps)}
                for c in self.contenders
            ],
            "command": [c.text for c in self.contenders],
            "budget": {"seconds": self.budget.seconds, "runs": self.budget.runs},
            "within": self.within,
            "threshold": self.threshold,
            "accept_disturbed": self.accept_disturbed,
            "warmup": self.warmup,
            "seed": self.seed,
            "objective": asdict(self.objective),
            "shown": asdict(self.shown),
            "same_output": self.same.to_json(self.contenders[0].setting.key),
            "axes": {},
            **inherited_facts(self.machine, self.environment, self.asked),
            **self.more,
        }


class Comparer:
    """One comparison, from the setup of its commands to the verdict."""

    def __init__(
        self,
        question: CompareQuestion,
        launcher: Launcher,
        observe: Callable[[Progress], None] = lambda _: None,
        before_block: Callable[[], None] = lambda: None,
    ):
        names = [c.setting.key for c in question.contenders]
        if len(names) != len(set(names)):
            raise InputError("two commands have one name", "give each its own --command-name")
        self._question = question
        self._launcher = launcher
        self._observe = observe
        self._before_block = before_block
        self._meter = Meter(question.budget)
        self._costs: dict[str, dict[int, float]] = {name: {} for name in names}
        self._centres = {name: Running() for name in names}
        self._failed: dict[str, str] = {}
        self._set_up: list[Contender] = []
        self._left: list[str] = []
        self._met: list[Met] = []
        self._looked: dict[str, int] = {}
        self._known: dict[str, bool] = {}
        self._made: list[int] = []
        self._after: dict[tuple[int, str], str | None] = {}

    def run(self) -> CompareVerdict:
        """Measure and judge. Ctrl-C ends with what there is.

        Raises ProgramError where a command or a step around it fails at its first run, StoreError where the experiment
        cannot be written.
        """
        question = self._question
        stopped = "decided"
        with Writer(question.out, None if question.resume else question.to_json()) as writer:
            recorder = Recorder(writer, self._launcher, self._meter, writer.earlier)
            self._blocks = Blocks(
                recorder, self._meter, random.Random(question.seed), question.objective, self._before_block
            )
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
            verdict = compare_verdict(read_experiment(question.out), stopped)
            verdict = replace(verdict, warnings=(*verdict.warnings, *dict.fromkeys(self._left)))
            return replace(verdict, warnings=(*verdict.warnings, *writer.conclude(encode(verdict))))

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
            block = self._blocks.run(self._arms(), WARM_UP)
            self._fail(block)
            self._report(WARM_UP)
        names = [c.setting.key for c in question.contenders]
        looks = looks_of(len(comparisons(names)))
        stop = Stop(question.fewest, question.most, again=not question.accept_disturbed)
        least = min(2, len(names))
        return self._blocks.repeat(self._arms, COMPARE, stop, self._take, lambda _: self._settled(looks), least)

    @property
    def _reference(self) -> str:
        return self._question.contenders[0].setting.key

    def _arms(self) -> list[Arm]:
        """Those that have not failed; none where the reference has, which nothing can then be held against."""
        if self._reference in self._failed:
            return []
        return [self._arm(c) for c in self._question.contenders if c.setting.key not in self._failed]

    def _arm(self, contender: Contender) -> Arm:
        def before() -> None:
            if contender not in self._set_up:
                self._set_up.append(contender)
                self._step(contender, "setup")
            self._step(contender, "prepare")

        return Arm(contender.setting, self._question.timeout_s, (before, lambda: self._step(contender, "conclude")))

    def _take(self, block: Block) -> None:
        for key, sample in block.samples.items():
            if sample.ok:
                self._costs[key][block.number] = sample.seconds
                self._centres[key].add(sample.seconds)
        # every good run of the block is kept before a failure ends the comparison
        self._fail(block)
        self._met += [met_of(block.number, key, sample) for key, sample in block.samples.items()]
        self._after |= {(block.number, key): before for key, before in block.after.items()}
        self._made.append(block.number)
        self._report(COMPARE)

    def _fail(self, block: Block) -> None:
        texts = {c.setting.key: c.text for c in self._question.contenders}
        for key, sample in block.samples.items():
            if not sample.ok:
                self._take_failure(key, texts[key], sample)

    def _take_failure(self, key: str, text: str, sample: Sample) -> None:
        """A command that never ran well is bad input; one that fails later is left out, and its row says so."""
        if not self._costs[key] and key not in self._question.may_fail:
            printed = f"; it printed:\n{sample.output.rstrip()}" if sample.output.strip() else ""
            hint = (
                "with --ignore-failure its exit code does not matter"
                if "exit code" in (sample.error or "") and self._question.kind == COMPARE
                else None
            )
            raise ProgramError(f"{text}: {sample.error}{printed}", hint)
        self._failed[key] = str(sample.error)

    def _settled(self, looks: OpenLooks) -> bool:
        """Whether a verdict is reached on each contender against the reference, and its size is known well enough."""
        question = self._question
        met = PhaseMet(self._met, question.machine.limits.cpu_quota)
        if len(question.contenders) < 2:
            spoiled = frozenset() if question.accept_disturbed else met.of().which
            return sum(number not in spoiled for number in self._made) >= _ALONE
        reference = self._costs[self._reference]
        for contender in question.contenders[1:]:
            key = contender.setting.key
            if key in self._failed:
                continue
            both = sorted(reference.keys() & self._costs[key].keys())
            pairs = Pairs(
                tuple(reference[b] for b in both),
                tuple(self._costs[key][b] for b in both),
                tuple(both),
                met.of(self._reference, key),
                tuple((self._after[b, self._reference], self._after[b, key]) for b in both),
                (self._reference, key),
            )
            # between two looks what was seen at the last one holds
            count = len(pairs.deciding(question.accept_disturbed)[0])
            if not looks.due(count) or self._looked.get(key) == count:
                continue
            self._looked[key] = count
            verdict, _ = judge_pairs(
                pairs, looks.level, question.within, final=False, accept_disturbed=question.accept_disturbed
            )
            threshold, ratio = question.threshold, verdict.ratio
            at_threshold = threshold is not None and ratio.low * (1 + threshold) <= 1 <= ratio.high * (1 + threshold)
            self._known[key] = is_settled(verdict) and not at_threshold and not self._at_edge(ratio)
        return all(self._known.get(c.setting.key, c.setting.key in self._failed) for c in question.contenders[1:])

    def _at_edge(self, ratio: Ratio) -> bool:
        """Whether it is open on which side of `apart` a ratio lies, and more runs may still tell."""
        apart = self._question.apart
        wide = ratio.high > ratio.low * (1 + 2 * self._question.within)
        return apart is not None and wide and ratio.low <= apart <= ratio.high

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
    question: CompareQuestion,
    launcher: Launcher,
    observe: Callable[[Progress], None] = lambda _: None,
    before_block: Callable[[], None] = lambda: None,
) -> CompareVerdict:
    """Answer a question: see `Comparer.run`; `before_block` may wait for quiet."""
    return Comparer(question, launcher, observe, before_block).run()
