# SPDX-License-Identifier: BSD-3-Clause
"""Running a study: its variants, its peers and the limit, interleaved in blocks, and a row for each."""

from __future__ import annotations

import math
import os
import random
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any, NoReturn

from nodewise.base.errors import InputError, StoreError
from nodewise.base.frozen import dataclass
from nodewise.base.shapes import ShapeError
from nodewise.base.units import format_seconds, whole_duration
from nodewise.experiments.blocks import Arm, Block, Blocks, Stop
from nodewise.experiments.progress import StudyProgress
from nodewise.experiments.study_plan import (
    StudyPlan,
    keep_what_was_measured,
    limits_of,
    plan_from_json,
    plan_study,
    told_of_size,
)
from nodewise.experiments.study_ranks import StudyRanks, able_to_join, ranked_setting
from nodewise.machine.model import Machine
from nodewise.machine.sources import load_machine
from nodewise.placement.policies import place
from nodewise.placement.registry import binding_variables
from nodewise.records.budget import Budget, Meter
from nodewise.records.experiment import Writer, read_question
from nodewise.records.inherited import inherited_facts
from nodewise.records.recorder import Recorder
from nodewise.records.result_store import STUDY
from nodewise.records.sample_lines import ran_meanwhile
from nodewise.runner.binding import binding_environment
from nodewise.runner.launcher import Launcher
from nodewise.runner.setting import Setting
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.studies.bound_threads import BIND
from nodewise.studies.commands import (
    Contender,
    contenders_of,
    settled_command,
    settling_command,
    work_of,
)
from nodewise.studies.discovery import Found
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.series import BOUND, Series
from nodewise.verdicts.study import StudyVerdict, fewest_blocks, study_verdict

_FEWEST, _MOST = FEWEST_BLOCKS, 25
#: How long one run may take at most.
_LONGEST_S = 600.0
#: The first block starts what the next ones find running: they may take this share of its time.
_WARM = 0.7
#: Blocks beyond those which an interval takes, since some are disturbed or do not compare.
_SPARED = 1.25
#: The phase in which contenders find by trial what holds for all their runs.
SETTLE = "settle"


@dataclass(frozen=True)
class StudyQuestion:
    """Which contenders at which point, with how many threads, in how many blocks within how many seconds.

    With `ranks` each contender runs as so many ranks, of `threads` threads each.
    `only` names contenders, all by default; limits of the machine are always measured. The budget `seconds` holds once each
    contender ran six times; a `firm` one is exceeded by one run at most, and has to hold those. With `limit_s` it may hold
    fewer, and no block begins that would end after so many seconds. Where it is `full` all blocks are made, however long they
    take, and that is said after the first; where it is `quick` only so many that all ratios can have an interval; `quick` is named
    where it would help and was not asked for. `out` is the directory
    that keeps the runs, `resume` goes on with what it holds. With `accept_disturbed` blocks decide that something disturbed.
    """

    found: Found
    point: Mapping[str, str]
    threads: int
    blocks: int = _MOST
    seconds: float = 120.0
    firm: bool = False
    quick: bool = False
    full: bool = False
    limit_s: float | None = None
    seed: int = 0
    only: Sequence[str] = ()
    ranks: StudyRanks | None = None
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
            **({} if self.ranks is None else asdict(self.ranks)),
            "blocks": self.blocks,
            "only": list(self.only),
            "seed": self.seed,
            "accept_disturbed": self.accept_disturbed,
            "readme": readme.read_text() if readme.is_file() else "",
            **inherited_facts(self.machine or load_machine(), self.environment, self.asked),
        }

    @property
    def processes(self) -> int:
        """How many processes share the work."""
        return 1 if self.ranks is None else self.ranks.ranks

    @property
    def all_threads(self) -> int:
        """The threads of all ranks."""
        return self.threads * self.processes


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
        return _Run(question, question.out, launcher, observe, before_block, note).result()
    with tempfile.TemporaryDirectory() as folder:
        return _Run(question, Path(folder) / "study", launcher, observe, before_block, note).result()


class UnkeptError(StoreError):
    """All runs are made and judged, and the `verdict` cannot be written: going on with the experiment judges it again."""

    def __init__(self, problem: StoreError, verdict: StudyVerdict):
        super().__init__(problem.what, problem.hint)
        self.verdict = verdict

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (StoreError(self.what, self.hint), self.verdict))


class _Run:
    """One study, from what is found before the blocks to the rows."""

    def __init__(
        self,
        question: StudyQuestion,
        out: Path,
        launcher: Launcher,
        observe: Callable[[StudyProgress], None],
        before_block: Callable[[], None],
        note: Callable[[str], None],
    ):
        self._question, self._out, self._launcher = question, out, launcher
        self._observe, self._before_block, self._note = observe, before_block, note
        found, threads = question.found, question.threads
        self._machine = question.machine or load_machine()
        self._meter = Meter(Budget(question.seconds))
        wanted = self._wanted(question.point)
        self._contenders = sum(c.not_run is None for c in wanted)
        self._plan = self._planned()
        self._point = point = self._plan.point
        if point != question.point:
            # commands hold the sizes
            wanted = self._wanted(point)
        work = work_of(found, point, threads, question.processes)
        self._work = {name: amount for name, amount in work.items() if name != "working_set"}
        self._series = [Series(c) for c in wanted]
        for limit in limits_of(found, point, self._machine, question.all_threads, work, self._plan.limit_s):
            name = limit.contender.name
            told = replace(limit.contender, not_run=self._plan.left_out.get(name))
            self._series.append(Series(told, limit, self._work, self._plan.kept.get(name)))
        near = found.study.processors(point) if found.study.processors is not None else None
        self._settings = {s.contender.name: self._setting(s, near) for s in self._series}
        self._most = self._most_blocks()
        self._made = 0
        #: When the first block began, and how many have run in it.
        self._begun_s: float | None = None
        self._ran = 0
        self._free: tuple[str, ...] = ()
        self._other_load: list[str] = []

    def _most_blocks(self) -> int:
        question = self._question
        if not question.quick:
            return question.blocks
        able = [s for s in self._series if s.reason is None]
        spared = math.ceil(_SPARED * fewest_blocks(able, question.found.study))
        return min(question.blocks, spared)

    def _wanted(self, point: Mapping[str, str]) -> list[Contender]:
        question = self._question
        wanted = _wanted(contenders_of(question.found, point, question.only), question.only)
        if question.ranks is None:
            return wanted
        return [able_to_join(c, question.ranks, question.environment) for c in wanted]

    def _setting(self, one: Series, near: Collection[int] | None) -> Setting:
        """How a contender is started; a limit of the machine in one process, with the threads of all ranks."""
        question, contender = self._question, one.contender
        alone = question.ranks is None or one.machine_limit is not None
        setting = setting_of(contender, question.all_threads if alone else question.threads, near)
        if not alone and contender.not_run is None:
            assert question.ranks is not None
            setting = ranked_setting(
                setting, contender, self._machine, question.ranks, question.threads, self._out, question.environment
            )
        return replace(setting, name=contender.name)

    def result(self) -> StudyVerdict:
        """Measure and judge. Ctrl-C ends with what there is, once each contender ran, and is raised before.

        Raises InputError where the budget is too small, StoreError where the experiment cannot be written.
        """
        question, out = self._question, self._out
        stopped = "runs"
        asked = {**question.to_json(), "plan": self._plan.to_json()}
        with Writer(out, None if question.resume else asked) as writer:
            recorder = Recorder(writer, self._launcher, self._meter, writer.earlier)
            blocks = Blocks(recorder, self._meter, random.Random(question.seed), before_block=self._before_block)
            try:
                self._settle(blocks)
                stop = Stop(
                    self._needed,
                    self._most,
                    limit_s=question.limit_s,
                    again=not question.accept_disturbed,
                    firm=self._question.firm,
                )
                # the first block shows whose threads can be bound, and counts where all of them can
                stopped = blocks.repeat(self._arms, STUDY, replace(stop, most=1, again=False), self._take)
                if stopped == "runs" and self._made < self._most:
                    rest = replace(stop, fewest=max(1, self._needed - self._made), most=self._most - self._made)
                    stopped = blocks.repeat(self._arms, STUDY, rest, self._take)
            except KeyboardInterrupt:
                if not self._made:
                    # a run may have taken minutes, also one of a block that is not whole
                    if not writer.measured:
                        writer.give_up()
                    raise
                stopped = "interrupted"
            except InputError:
                writer.give_up()
                raise
            writer.end_runs()
            self._other_load = ran_meanwhile(writer.note_neighbours())
            quota = self._machine.limits.cpu_quota
            keep_what_was_measured(
                question.found, self._point, self._machine, question.all_threads, self._series, quota
            )
            result = self._judged(stopped)
            try:
                writer.store_result({"results": [encode(result)]})
            except StoreError as problem:
                raise UnkeptError(problem, result) from problem
        return result

    def _planned(self) -> StudyPlan:
        """The plan; who goes on has that of the first time. Raises InputError where what was stored is damaged."""
        question = self._question
        if question.resume and question.out is not None and "plan" in (stored := read_question(question.out)):
            try:
                return plan_from_json(stored["plan"])
            except (ShapeError, KeyError, TypeError, ValueError) as problem:
                raise InputError(
                    f"{question.out / 'question.json'} is damaged: plan: {problem}", "start a new experiment"
                ) from problem
        return plan_study(
            question.found,
            question.point,
            self._machine,
            question.all_threads,
            self._contenders,
            question.seconds,
            question.firm,
            question.processes,
        )

    @property
    def _needed(self) -> int:
        """How many blocks there have to be: so many that each contender has an interval."""
        return self._question.blocks if self._question.full else min(_FEWEST, self._question.blocks)

    def _settle(self, blocks: Blocks) -> None:
        """Each contender's setting gets what it finds; where that fails, its series says why it cannot run."""
        for one in (s for s in self._series if s.reason is None and s.contender.settles):
            name = one.contender.name
            setting = self._settings[name]
            self._observe(StudyProgress(0, self._most, name, self._meter.seconds))
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
        return [self._arm(s.contender.name) for s in self._series if s.reason is None and s.kept is None]

    def _arm(self, name: str) -> Arm:
        def before() -> None:
            self._check_so_far()
            self._observe(StudyProgress(self._made + 1, self._most, name, self._meter.seconds))

        return Arm(self._settings[name], _LONGEST_S, (before, lambda: None))

    def _set_free(self, block: Block) -> bool:
        """Whether a peer's threads turned out not to be bindable: then no contender's are from now on."""
        told = {s.contender.name: block.samples.get(self._settings[s.contender.name].key) for s in self._series}
        unbound = [name for name, sample in told.items() if sample is not None and sample.metrics.get(BOUND) == 0]
        if self._free or not unbound:
            return False
        self._free = tuple(unbound)
        self._settings = {name: _without_binding(setting, name) for name, setting in self._settings.items()}
        return True

    def _take(self, block: Block) -> None:
        if not self._made:
            self._check_budget(block)
            if self._set_free(block):
                return
        # the budget's end is no fault of those that it cut off or left out
        if not block.whole and self._made:
            return
        for one in self._series:
            key = self._settings[one.contender.name].key
            if key in block.samples:
                one.add(self._made, block.samples[key], self._name_of(block.after[key]))
        self._made += 1

    def _name_of(self, key: str | None) -> str | None:
        """The contender that a setting is of."""
        return next((name for name, setting in self._settings.items() if setting.key == key), key)

    def _check_so_far(self) -> None:
        """Before a run of the first block: whether what was spent by now is too much already. Raises InputError as `_check_budget` would."""
        question = self._question
        if self._made or not question.firm:
            return
        # the meter stands still between runs
        now_s = question.seconds - self._meter.left_s(self._meter.budget)
        if self._begun_s is None:
            self._begun_s = now_s
            if now_s >= question.seconds:
                ran = f"finding out which contenders run here took {format_seconds(now_s)} of it"
                self._refuse_budget(ran, "more than ", now_s)
            return
        self._ran += 1
        # a block takes as long at least
        spent_s = now_s - self._begun_s
        if (
            question.limit_s is None
            and self._begun_s + _WARM * (self._begun_s + self._needed * spent_s) > question.seconds
        ):
            many = len(self._arms())
            self._refuse_budget(
                f"{self._ran} of {many} contenders took {format_seconds(spent_s)}",
                "more than ",
                self._begun_s + self._needed * spent_s / self._ran * many,
            )

    def _check_budget(self, block: Block) -> None:
        """After the first block: whether the budget holds as many as are needed. Raises InputError where it was asked for."""
        question, many = self._question, len(self._arms())
        if question.limit_s is not None and block.whole:
            return
        spent_s = sum(block.costs.values())
        if self._begun_s is not None and self._ran + 1 == len(block.costs):
            # the first run's cost begins where the study began
            spent_s = self._meter.seconds - self._begun_s
        each_s = spent_s / max(1, len(block.costs)) * many
        before_s = self._meter.seconds - spent_s
        whole_s = before_s + self._needed * each_s
        if not self._question.firm:
            if whole_s > question.seconds or question.full:
                self._note(
                    f"{self._needed} blocks of {many} contenders take about {format_seconds(whole_s)}; "
                    f"--only names fewer{'' if question.quick else ', --quick ends within a minute'}"
                )
            return
        if block.whole and before_s + _WARM * whole_s <= question.seconds:
            return
        ran = f"one run of each of the {many} contenders takes {format_seconds(each_s)}"
        if not block.whole:
            ran = f"it ended after {len(block.costs) - len(block.stopped)} of {many} contenders"
        self._refuse_budget(ran, "more than " if block.stopped else "", whole_s)

    def _refuse_budget(self, ran: str, more: str, whole_s: float) -> NoReturn:
        raise InputError(
            f"the budget is too small: {ran}, and {self._needed} runs of each are needed",
            f"give {more}--budget {whole_duration(whole_s)}, "
            f"{'' if self._question.quick else '--quick, '}or fewer contenders with --only",
        )

    def _judged(self, stopped: str) -> StudyVerdict:
        question = self._question
        study = question.found.study
        found = study_verdict(
            self._series,
            study,
            self._point,
            question.threads,
            self._made,
            ranks=question.processes,
            work=self._work,
            stopped=stopped,
            seconds_spent=self._meter.seconds,
            quota=self._machine.limits.cpu_quota,
            accept=question.accept_disturbed,
            other_load=self._other_load,
            free=self._free,
        )
        # a study knows its result as the JSON that it is written as
        encoded = encode(found)
        lines = list(study.report(encoded)) if study.report is not None else []
        if study.advise is not None and self._made >= FEWEST_BLOCKS:
            lines += study.advise(encoded)
        elif study.advise is not None:
            lines.append(f"no advice: it takes {FEWEST_BLOCKS} blocks, of {self._made}")
        lines += told_of_size(
            question.found, question.point, self._point, self._machine, question.all_threads, self._contenders
        )
        return replace(found, report_lines=tuple(lines))


def setting_of(contender: Contender, threads: int, near: Collection[int] | None = None) -> Setting:
    """So many threads on the cores of a balanced placement, on the processors `near` where enough of those may be used.

    A variant's threads are bound one by one, by OpenMP. So are a peer's, but by its process once it is seen which of them work:
    those that a library makes by itself would all inherit the place of the first one.
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
        if contender.kind == "peer":
            env[BIND] = ":".join(",".join(map(str, place)) for place in placement.places)
        else:
            env |= binding_environment(contender.command, placement.places, env, "openmp")[0]
    unset = [*binding_variables(), *(name for name, value in contender.env.items() if not value)]
    env |= {name: value for name, value in contender.env.items() if value}
    return Setting(contender.command, env=env, unset=tuple(v for v in unset if v not in env), mask=mask)


def _without_binding(setting: Setting, name: str) -> Setting:
    """The same on the same processors, with its threads free to move among them."""
    bound = {BIND, *binding_variables()}
    env = {k: v for k, v in setting.env.items() if k not in bound}
    return replace(setting, env=env, unset=tuple(sorted(bound | {*setting.unset})), name=f"{name} (threads free)")


def _wanted(contenders: Sequence[Contender], only: Sequence[str]) -> list[Contender]:
    names = [c.name for c in contenders]
    if unknown := [name for name in only if name not in names]:
        raise InputError(f"there is no contender {unknown[0]!r} here", f"there are: {', '.join(names)}")
    return [c for c in contenders if not only or c.name in only]
