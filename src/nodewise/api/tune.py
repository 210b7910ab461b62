# SPDX-License-Identifier: BSD-3-Clause
"""A tune, from what is asked to its verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from nodewise.api.caller import Notify, question, unheard
from nodewise.api.command_line import tune_line
from nodewise.api.given import (
    Command,
    Duration,
    Processors,
    Share,
    StrPath,
    Values,
    seconds_of,
    seed_of,
    share_of,
    values_of,
    words_of,
)
from nodewise.api.history import known_of, remembered
from nodewise.api.measuring import kept, launcher_for, quiet_wait, unless_interrupted
from nodewise.api.options import HowToRun, RunChoice, choose_run, with_same_output, with_variables
from nodewise.base.difference import WITHIN
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.note import Note
from nodewise.experiments import tune as tuner
from nodewise.experiments.progress import Progress
from nodewise.experiments.target import resolve_tunable
from nodewise.experiments.tune_question import Question
from nodewise.machine.given import machine as the_machine
from nodewise.machine.model import Machine
from nodewise.placement.traps import environment_traps
from nodewise.records.budget import Budget
from nodewise.runner.isolation import PROCESS
from nodewise.runner.launch import start_of
from nodewise.runner.same_output import Kind
from nodewise.tuning.outline import Outline
from nodewise.tuning.prior import Recall, nothing_recalled
from nodewise.tuning.wanted import Wanted
from nodewise.verdicts.tune import TuneVerdict


@dataclass(frozen=True)
class Tuning:
    """A tune that is ready to begin."""

    question: Question
    run: RunChoice
    history: bool = True

    def answer(
        self,
        progress: Callable[[Progress], None] = unheard,
        note: Notify = unheard,
        announce: Callable[[Outline], None] = unheard,
        spent_s: float = 0.0,
    ) -> TuneVerdict:
        """Search, confirm and judge; `announce` is called with what will be tried, once that is known. Ctrl-C ends with the best so far.
        `spent_s` of the budget's seconds are gone already.

        Raises what `experiments.tune.Tuner.run` does.
        """
        question, run = self.question, self.run
        self._warn(note)
        with launcher_for(replace(run.options, as_printed=True), question.environment, note, run.wait) as launcher:
            wait = quiet_wait(run.wait_quiet_s, question.machine.allowed, note)
            verdict = tuner.tune(
                question, launcher, progress, wait, announce, spent_s=spent_s, recall=self._recall(note)
            )
        return remembered(verdict, question.out, note, verdict)

    def preview(self, note: Notify = unheard) -> Outline:
        """What would be tried, after one run of the program, of which nothing is kept. Raises ProgramError."""
        self._warn(note)
        with launcher_for(replace(self.run.options, as_printed=True), self.question.environment, note) as launcher:
            return tuner.Tuner(self.question, launcher, recall=self._recall(note)).preview()

    def _recall(self, note: Notify) -> Recall:
        """What gives the earlier tunes to start from."""
        question = self.question
        if not self.history:
            return nothing_recalled
        return lambda loaded: known_of(question.command, question.machine, question.objective.metric, loaded, note)

    def _warn(self, note: Notify) -> None:
        question = self.question
        if (question.axes is None or "placement" in question.axes) and question.machine.live:
            for trap in environment_traps(question.environment):
                note(Note("warning", str(trap)))


def prepare_tune(
    words: Sequence[str],
    run: RunChoice,
    out: Path,
    *,
    budget: Duration | None = "2min",
    max_runs: int | None = None,
    axes: str | Sequence[str] | None = None,
    parameters: Mapping[str, Values] | None = None,
    env_axes: Mapping[str, Values] | None = None,
    build: str | None = None,
    constraints: Sequence[str] = (),
    machine: Machine | StrPath | None = None,
    allow: Processors | None = None,
    within: Share = WITHIN,
    seed: int = 0,
    sweep: str | Sequence[str] | None = None,
    history: bool = True,
    resume: bool = False,
    asked: Sequence[str] = (),
) -> Tuning:
    """The tune that is asked for; `asked` is the command line that asks it again. Raises InputError."""
    if budget is None and max_runs is None:
        raise InputError("a tune without a bound might never end", "give budget, max_runs or both")
    limit = Budget(None if budget is None else seconds_of(budget, "--budget"), max_runs)
    if sweep is not None and axes is not None:
        raise InputError(
            "--sweep and --axes both name what is tried", "give one of them: --sweep tries all of its settings"
        )
    named = axes if sweep is None else sweep
    listed = named.split(",") if isinstance(named, str) else named
    run, words = with_variables(run, words, parameters or ())
    command, tries = resolve_tunable(words)
    command = (*run.start, *command)
    question = Question(
        command=command,
        machine=the_machine(machine, allow=allow),
        axes=None if listed is None else tuple(name.strip() for name in listed if name.strip()),
        out=out,
        budget=limit,
        within=share_of(within, "--within"),
        seed=seed_of(seed),
        timeout_s=run.options.timeout_s,
        environment=run.environment,
        asked=tuple(asked),
        objective=run.objective,
        shown=run.shown,
        resume=resume,
        same=run.options.same,
        wanted=Wanted(
            {**tries, **values_of(parameters)},
            values_of(env_axes, in_command=False),
            build,
            tuple(constraints),
            tuple(one.text if one is not None else PROCESS for one in run.isolation),
        ),
        start=start_of(run.options, run.env),
        accept_disturbed=run.accept_disturbed,
        how=run.how,
        sweep=sweep is not None,
    )
    return Tuning(question, run, history)


@question()
def tune(
    command: Command,
    *,
    budget: Duration | None = "2min",
    max_runs: int | None = None,
    axes: str | Sequence[str] | None = None,
    parameters: Mapping[str, Values] | None = None,
    env_axes: Mapping[str, Values] | None = None,
    build: str | None = None,
    constraints: Sequence[str] = (),
    machine: Machine | StrPath | None = None,
    allow: Processors | None = None,
    within: Share = WITHIN,
    seed: int = 0,
    sweep: str | Sequence[str] | None = None,
    same_output: StrPath | bool | None = None,
    tolerance: float | None = None,
    history: bool = True,
    out: StrPath | None = None,
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
    note: Notify | None = None,
    **how: Unpack[HowToRun],
) -> TuneVerdict:
    """Search the settings of a program on a machine, then confirm the best one against the way it is started now.

    `axes` are what may be changed (`["threads", "placement"]`, or names of knobs); without them they are chosen by what the
    program loads. `parameters` are values for `{NAME}` in the command, `env_axes` values of variables, `build` a shell
    command that makes the program, `constraints` what must hold between axes. `sweep` are axes of which every setting is run,
    as often as the others, in place of a search of `axes`. A difference up to `within` counts as none.
    `same_output` is what of a run's output must be as the baseline's (None: what repeats; False: nothing; True: all; a file
    or a regular expression), but for numbers within `tolerance`. Without `history` the search starts from nothing: earlier tunes
    of the same program, or of the same libraries, are not looked at. `how` are the keywords of `nodewise.HowToRun`.

    The runs are kept in the folder `out`, by default a new one among the system's temporary ones, and
    `TuneVerdict.experiment` names it; with `resume` and the same arguments a tune that was cut off goes on. `progress` is
    called with where it is, `note` with what there is to know meanwhile.

    >>> import nodewise
    >>> verdict = nodewise.tune("sleep {s}", parameters={"s": [0.02, 0.01]}, axes=[], max_runs=30, accept_disturbed=True)
    >>> verdict.baseline.command
    ('sleep', '0.02')
    >>> verdict.runs <= 30
    True

    Raises ProgramError where the program does not run as it is, InputError where something given cannot be used or the
    budget is too small, StoreError where the runs cannot be kept, and KeyboardInterrupt on Ctrl-C, once the programs have ended.
    """
    with kept(out, resume, "tune") as folder:
        words, run = words_of(command), with_same_output(choose_run(**how), Kind.AUTO, same_output, tolerance)
        asked: dict[str, Any] = {
            "budget": budget,
            "max_runs": max_runs,
            "axes": axes,
            "parameters": parameters,
            "env_axes": env_axes,
            "build": build,
            "constraints": constraints,
            "machine": machine,
            "allow": allow,
            "within": within,
            "seed": seed,
            "sweep": sweep,
            "history": history,
        }
        line = tune_line(words, run.how, **asked, same_output=same_output, tolerance=tolerance)
        tuning = prepare_tune(words, run, folder, **asked, resume=resume, asked=line)
        verdict = tuning.answer(progress or unheard, note or unheard)
        unless_interrupted(verdict.stopped, folder)
        return verdict
