# SPDX-License-Identifier: BSD-3-Clause
"""Running a study: its variants, its peers and the limit, interleaved in blocks, and a row for each."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.units import format_seconds, whole_duration
from nodewise.experiments.blocks import Arm, Block, Blocks, Stop
from nodewise.experiments.progress import StudyProgress
from nodewise.machine.model import Machine
from nodewise.machine.sources import load_machine
from nodewise.placement.policies import place
from nodewise.placement.registry import binding_variables
from nodewise.records.budget import Budget, Meter
from nodewise.records.experiment import Writer, inherited_facts
from nodewise.records.recorder import Recorder
from nodewise.records.result_store import STUDY
from nodewise.runner.binding import binding_environment
from nodewise.runner.launcher import Launcher
from nodewise.runner.setting import Setting
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.studies.commands import (
    Contender,
    contenders_of,
    machine_limits,
    settled_command,
    settling_command,
    work_of,
)
from nodewise.studies.discovery import Found
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.series import Series
from nodewise.verdicts.study import StudyVerdict, study_verdict

_FEWEST, _MOST = FEWEST_BLOCKS, 25
#: How long one run may take at most.
_LONGEST_S = 600.0
#: The first block starts what the next ones find running: they may take this share of its time.
_WARM = 0.7
#: The phase in which contenders find by trial what holds for all their runs.
SETTLE = "settle"


@dataclass(frozen=True)
class StudyQuestion:
    """Which contenders at which point, with how many threads, in how many blocks within how many seconds.

    `only` names contenders, all by default; limits of the machine are always measured. The budget `seconds` holds once each
    contender ran six times; a `firm` one is exceeded by one run at most, and has to hold those. With `limit_s` it may hold
    fewer, and no block begins that would end after so many seconds. `out` is the directory
    that keeps the runs, `resume` goes on with what it holds. With `accept_disturbed` blocks decide that something disturbed.
    """

    found: Found
    point: Mapping[str, str]
    threads: int
    blocks: int = _MOST
    seconds: float = 120.0
    firm: bool = False
    limit_s: float | None = None
    seed: int = 0
    only: Sequence[str] = ()
    out: Path | None = None
    resume: bool = False
    accept_disturbed: bool = False
    machine: Machine | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    asked: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """What `question.json` holds, with the study's README, from which its page is made."""
        readme = self.found.folder / "README.md"
        return {
            "kind": STUDY,
            "study": self.found.study.name,
            "point": dict(self.point),
            "threads": self.threads,
            "blocks": self.blocks,
            "only": list(self.only),
            "seed": self.seed,
            "accept_disturbed": self.accept_disturbed,
            "readme": readme.read_text() if readme.is_file() else "",
            **inherited_facts(self.machine or load_machine(), self.environment, self.asked),
        }


def run_study(
    question: StudyQuestion,
    launcher: Launcher,
    observe: Callable[[StudyProgress], None] = lambda _: None,
    before_block: Callable[[], None] = lambda: None,
    note: Callable[[str], None] = lambda _: None,
) -> StudyVerdict:
    """Measure every contender, and judge them.

    Before the blocks each contender that has something to find by trial finds it, once for all its runs. Then blocks; a
    contender that cannot run, fails or is wrong is a row that says so. Every run is kept in `question.out`; without one in a
    directory that goes with the end. `note` is called with what there is to know before it goes on.

    Raises InputError where the budget was asked for and does not hold six blocks, after the first one.
    """
    if question.out is not None:
        return _Run(question, launcher, observe, before_block, note).result(question.out)
    with tempfile.TemporaryDirectory() as folder:
        return _Run(question, launcher, observe, before_block, note).result(Path(folder) / "study")


class _Run:
    """One study, from what is found before the blocks to the rows."""

    def __init__(
        self,
        question: StudyQuestion,
        launcher: Launcher,
        observe: Callable[[StudyProgress], None],
        before_block: Callable[[], None],
        note: Callable[[str], None],
    ):
        self._question, self._launcher = question, launcher
        self._observe, self._before_block, self._note = observe, before_block, note
        found, point = question.found, question.point
        self._work = work_of(found, point, question.threads)
        self._series = [Series(c) for c in _wanted(contenders_of(found, point), question.only)]
        self._series += [Series(contender, limit, self._work) for limit, contender in machine_limits(found)]
        near = found.study.processors(point) if found.study.processors is not None else None
        self._settings = {
            s.contender.name: replace(setting_of(s.contender, question.threads, near), name=s.contender.name)
            for s in self._series
        }
        self._meter = Meter(Budget(question.seconds))
        self._made = 0
        self._other_load: list[str] = []

    def result(self, out: Path) -> StudyVerdict:
        """Measure and judge. Ctrl-C ends with what there is, once each contender ran."""
        question = self._question
        stopped = "runs"
        with Writer(out, None if question.resume else question.to_json()) as writer:
            recorder = Recorder(writer, self._launcher, self._meter, writer.earlier)
            blocks = Blocks(recorder, self._meter, random.Random(question.seed), before_block=self._before_block)
            try:
                self._settle(blocks)
                stop = Stop(
                    self._needed,
                    question.blocks,
                    limit_s=question.limit_s,
                    again=not question.accept_disturbed,
                    firm=self._question.firm,
                )
                stopped = blocks.repeat(self._arms, STUDY, stop, self._take)
            except KeyboardInterrupt:
                if not self._made:
                    self._give_up(writer)
                    raise
                stopped = "interrupted"
            except InputError:
                self._give_up(writer)
                raise
            self._other_load = [n.sentence for n in writer.note_neighbours()]
            result = self._judged(stopped)
            writer.store_result({"results": [encode(result)]})
        return result

    @staticmethod
    def _give_up(writer: Writer) -> None:
        if writer.earlier is None:
            writer.discard()

    @property
    def _needed(self) -> int:
        """How many blocks there have to be: so many that each contender has an interval."""
        return min(_FEWEST, self._question.blocks)

    def _settle(self, blocks: Blocks) -> None:
        """Each contender's setting gets what it finds; where that fails, its series says why it cannot run."""
        for one in (s for s in self._series if s.reason is None and s.contender.settles):
            name = one.contender.name
            setting = self._settings[name]
            self._observe(StudyProgress(0, self._question.blocks, name, self._meter.seconds))
            trial = replace(setting, command=settling_command(setting.command), name=f"{name} (settling)")
            allowed = blocks.allowed_s() if self._question.firm else _LONGEST_S
            if allowed > 0:
                sample, _ = blocks.alone(Arm(trial, min(_LONGEST_S, allowed)), SETTLE)
            if allowed <= 0 or sample.stopped_before(_LONGEST_S):
                raise InputError(
                    "the budget ended before the blocks: contenders first find by trial what holds for all their runs",
                    f"give more than --budget {whole_duration(self._question.seconds)}, or fewer contenders with --only",
                )
            if sample.ok:
                self._settings[name] = replace(setting, command=settled_command(setting.command, sample.metrics))
            else:
                one.add(0, sample)

    def _arms(self) -> list[Arm]:
        return [self._arm(s.contender.name) for s in self._series if s.reason is None]

    def _arm(self, name: str) -> Arm:
        def before() -> None:
            self._observe(StudyProgress(self._made + 1, self._question.blocks, name, self._meter.seconds))

        return Arm(self._settings[name], _LONGEST_S, (before, lambda: None))

    def _take(self, block: Block) -> None:
        if not self._made:
            self._check_budget(block)
        # the budget's end is no fault of those that it cut off or left out
        if not block.whole and self._made:
            return
        for one in self._series:
            if one.contender.name in block.samples:
                one.add(self._made, block.samples[one.contender.name], block.after[one.contender.name])
        self._made += 1

    def _check_budget(self, block: Block) -> None:
        """After the first block: whether the budget holds as many as are needed. Raises InputError where it was asked for."""
        question, many = self._question, len(self._arms())
        if question.limit_s is not None and block.whole:
            return
        each_s = sum(block.costs.values()) / max(1, len(block.costs)) * many
        before_s = self._meter.seconds - sum(block.costs.values())
        whole_s = before_s + self._needed * each_s
        if not self._question.firm:
            if whole_s > question.seconds:
                self._note(
                    f"{self._needed} blocks of {many} contenders take about {format_seconds(whole_s)}; "
                    "--only names fewer, --quick ends within a minute"
                )
            return
        if block.whole and before_s + _WARM * whole_s <= question.seconds:
            return
        ran = f"one run of each of the {many} contenders takes {format_seconds(each_s)}"
        if not block.whole:
            ran = f"it ended after {len(block.costs) - len(block.stopped)} of {many} contenders"
        raise InputError(
            f"the budget is too small: {ran}, and {self._needed} runs of each are needed",
            f"give {'more than ' if block.stopped else ''}--budget {whole_duration(whole_s)}, "
            "fewer contenders with --only, or --quick",
        )

    def _judged(self, stopped: str) -> StudyVerdict:
        question = self._question
        study = question.found.study
        found = study_verdict(
            self._series,
            study,
            question.point,
            question.threads,
            self._made,
            work=self._work,
            stopped=stopped,
            seconds_spent=self._meter.seconds,
            quota=(question.machine or load_machine()).limits.cpu_quota,
            accept=question.accept_disturbed,
            other_load=self._other_load,
        )
        # a study knows its result as the JSON that it is written as
        return found if study.tell is None else replace(found, told=tuple(study.tell(encode(found))))


def setting_of(contender: Contender, threads: int, near: Collection[int] | None = None) -> Setting:
    """So many threads on the cores of a balanced placement, on the processors `near` where enough of those may be used.

    A variant's threads are bound one by one.

    A peer's threads are not: those that a library makes by itself would all inherit the place of the first one.
    """
    machine = load_machine()
    nearer = tuple(p for p in machine.allowed if near is not None and p in near)
    if threads <= len(nearer):
        machine = replace(machine, limits=replace(machine.limits, processors=nearer))
    env = {"OMP_NUM_THREADS": str(threads), "OMP_DYNAMIC": "false"}
    env |= {f"{library}_NUM_THREADS": str(threads) for library in ("OPENBLAS", "MKL", "BLIS")}
    mask = None
    placement = place(machine, "balanced", threads) if threads <= len(machine.allowed) else None
    if placement is not None:
        mask = placement.mask
        if contender.kind != "peer":
            env |= binding_environment(contender.command, placement.places, env, "openmp")[0]
    unset = [*binding_variables(), *(name for name, value in contender.env.items() if not value)]
    env |= {name: value for name, value in contender.env.items() if value}
    return Setting(contender.command, env=env, unset=tuple(v for v in unset if v not in env), mask=mask)


def _wanted(contenders: Sequence[Contender], only: Sequence[str]) -> list[Contender]:
    names = [c.name for c in contenders]
    if unknown := [name for name in only if name not in names]:
        raise InputError(f"there is no contender {unknown[0]!r} here", f"there are: {', '.join(names)}")
    return [c for c in contenders if not only or c.name in only]
