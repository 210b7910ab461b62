# SPDX-License-Identifier: BSD-3-Clause
"""scale: one program with several numbers of threads, ranks or nodes, in random interleaved blocks."""

from __future__ import annotations

import contextlib
import math
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError, ProgramError
from nodewise.base.frozen import dataclass
from nodewise.experiments.blocks import Arm, Block, Blocks, Stop
from nodewise.experiments.first_run import or_accepting
from nodewise.experiments.progress import Progress
from nodewise.machine.model import Machine
from nodewise.records.budget import Budget, Meter
from nodewise.records.experiment import Writer, read_experiment
from nodewise.records.inherited import inherited_facts
from nodewise.records.recorder import Recorder
from nodewise.runner.launcher import Launcher
from nodewise.runner.setting import Setting
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.tuning.options import Options
from nodewise.tuning.ranks import read_ranked, with_ranks
from nodewise.tuning.selection import Offer
from nodewise.tuning.wanted import Wanted
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.scale import SCALE, ScaleVerdict, judge_scale

_WARM_UP = "warm-up"


@dataclass(frozen=True)
class ScaleQuestion:
    """What is asked: the time of `command` with each of `counts` `over` (`threads`, `ranks`, `nodes`), ascending.

    `weak`: its work grows with the count. `{threads}` (or as `over` is) in the command stands for the count. `per_node` is the number of
    ranks on a node (0: not known). `to` are counts to predict, `by` a time of day with its seconds since the epoch; the job
    that is to end by then is `times` as long as the command. `most` blocks are made.
    """

    command: tuple[str, ...]
    machine: Machine
    out: Path
    over: str
    counts: tuple[int, ...]
    weak: bool = False
    per_node: int = 0
    to: tuple[int, ...] = ()
    by: str = ""
    by_epoch_s: float | None = None
    times: float = 1.0
    most: int = 10
    budget: Budget = field(default_factory=lambda: Budget(600.0))
    seed: int = 0
    timeout_s: float | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    asked: tuple[str, ...] = ()
    resume: bool = False
    accept_disturbed: bool = False
    how: Mapping[str, Any] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """The name of each count's setting."""
        return tuple(f"{self.over}={n}" for n in self.counts)

    def to_json(self) -> dict[str, Any]:
        """What `question.json` holds."""
        return {
            "kind": SCALE,
            "command": list(self.command),
            "over": self.over,
            "counts": list(self.counts),
            "settings": list(self.keys),
            "weak": self.weak,
            "per_node": self.per_node,
            "to": list(self.to),
            "by": self.by,
            "by_epoch_s": self.by_epoch_s,
            "times": self.times,
            "axes": {},
            "budget": {"seconds": self.budget.seconds, "runs": self.budget.runs},
            "within": 0.0,
            "accept_disturbed": self.accept_disturbed,
            "seed": self.seed,
            "how": dict(self.how),
            **inherited_facts(self.machine, self.environment, self.asked),
        }


def _put(words: Sequence[str], over: str, count: int) -> tuple[str, ...]:
    """The words with the count where its name stands in braces."""
    return tuple(word.replace(f"{{{over}}}", str(count)) for word in words)


class Scaler:
    """One scaling, from the first run to the verdict."""

    def __init__(
        self,
        question: ScaleQuestion,
        launcher: Launcher,
        observe: Callable[[Progress], None] = lambda _: None,
        before_block: Callable[[], None] = lambda: None,
    ):
        self._question, self._launcher = question, launcher
        self._observe, self._before_block = observe, before_block
        self._meter = Meter(question.budget)
        self._failed: dict[str, str] = {}
        self._good = 0

    def run(self) -> ScaleVerdict:
        """Measure and judge. Ctrl-C ends with what there is.

        Raises ProgramError where the program does not run with the smallest count, InputError where nothing can set its
        threads or the budget holds no block, StoreError where the experiment cannot be written.
        """
        question = self._question
        with Writer(question.out, None if question.resume else question.to_json()) as self._writer:
            recorder = Recorder(self._writer, self._launcher, self._meter, self._writer.earlier, question.budget)
            self._blocks = Blocks(recorder, self._meter, random.Random(question.seed), before_block=self._before_block)
            try:
                settings = self._settings()
                stop = Stop(FEWEST_BLOCKS, question.most, again=not question.accept_disturbed)
                stopped = self._blocks.repeat(lambda: self._arms(settings), SCALE, stop, self._take)
            except KeyboardInterrupt:
                if not self._good:
                    if not self._writer.measured:
                        self._writer.give_up()
                    raise
                stopped = "interrupted"
            except (ProgramError, InputError):
                if not self._good:
                    self._writer.give_up()
                raise
            self._writer.end_runs()
            if not self._good:
                raise self._nothing(next(iter(self._failed.values()), "the budget ended first"))
            verdict = judge_scale(read_experiment(question.out), stopped)
            return replace(verdict, warnings=(*verdict.warnings, *self._writer.conclude(encode(verdict))))

    def _settings(self) -> list[Setting]:
        """The setting of each count, after a first run with the smallest one that decides nothing."""
        question = self._question
        if question.over == "threads":
            return self._by_threads()
        settings = [self._ranked(n) for n in question.counts]
        self._first(settings[0])
        return settings

    def _ranked(self, count: int) -> Setting:
        question = self._question
        ranked = read_ranked(question.command)
        assert ranked is not None
        ranks = count * question.per_node if question.over == "nodes" else count
        # srun would deal fewer out over all nodes of its job
        each = min(ranks, question.per_node)
        command = _put(ranked.command(ranks, each=each), question.over, count)
        return with_ranks(Setting(command, values={question.over: count}), question.environment)

    def _by_threads(self) -> list[Setting]:
        question, earlier = self._question, self._writer.earlier
        least = _put(question.command, "threads", question.counts[0])
        offer = Offer(question.machine, least, ("threads",), question.environment, Wanted())
        offer.folder = question.out / "launch"
        named = least != question.command
        options: Options | None = None
        # what it loads may say more, and a number that its user writes needs nobody to read it
        with contextlib.suppress(InputError):
            options = offer.before_the_first_run()
        first = options.baseline() if options is not None else Setting(least, mask=question.machine.held_to)
        first = replace(first, command=least)
        with offer.watching(self._launcher, first):
            self._first(first)
        if earlier is not None and "loaded" in earlier.question:
            offer.recall(earlier.question["loaded"])
        try:
            options = offer.after_the_first_run(len(question.counts) * question.most)
        except InputError as problem:
            options = None
            if not named:
                raise self._unread(problem.what) from problem
        if options is not None and options.without_effect and not named:
            raise self._unread(next(iter(options.without_effect.values())))
        if earlier is None or "loaded" not in earlier.question:
            self._writer.amend({"loaded": offer.loaded_json})
        settings = []
        for n in question.counts:
            made = (
                options.setting({"threads": n})
                if options is not None
                else Setting(least, mask=question.machine.held_to)
            )
            settings.append(replace(made, command=_put(question.command, "threads", n), values={"threads": n}))
        return settings

    def _unread(self, why: str) -> InputError:
        return InputError(
            f"nothing that nodewise sets changes the number of threads: {why.rpartition(': ')[2].partition('; only')[0]}",
            "write {threads} where the program is told: nodewise scale -- ./app --threads {threads}",
        )

    def _first(self, setting: Setting) -> None:
        self._report(_WARM_UP)
        sample, _ = self._blocks.alone(Arm(setting, self._limit_s()), _WARM_UP)
        if not sample.ok:
            shown = f"; it printed:\n{sample.output.rstrip()}" if sample.output.strip() else ""
            raise self._nothing(f"{sample.error}{shown}")

    def _nothing(self, why: str) -> ProgramError:
        count = self._question.counts[0]
        return ProgramError(
            f"the program does not run with {self._question.over}={count}: {why}",
            or_accepting(
                "it must succeed before it can be scaled; a larger --budget or --timeout where it was stopped",
                why.partition(";")[0],
            ),
        )

    def _limit_s(self) -> float | None:
        limit = min(self._question.timeout_s or math.inf, self._blocks.allowed_s())
        return None if math.isinf(limit) else limit

    def _arms(self, settings: Sequence[Setting]) -> list[Arm]:
        return [Arm(s, self._question.timeout_s) for s in settings if s.key not in self._failed]

    def _take(self, block: Block) -> None:
        for key, sample in block.samples.items():
            if sample.ok:
                self._good += 1
            elif key not in block.stopped:
                self._failed[key] = str(sample.error)
        self._report(SCALE)

    def _report(self, phase: str) -> None:
        self._observe(self._blocks.progress(phase))


def scale(
    question: ScaleQuestion,
    launcher: Launcher,
    observe: Callable[[Progress], None] = lambda _: None,
    before_block: Callable[[], None] = lambda: None,
) -> ScaleVerdict:
    """Measure and judge a scaling. Raises what `Scaler.run` does."""
    return Scaler(question, launcher, observe, before_block).run()
