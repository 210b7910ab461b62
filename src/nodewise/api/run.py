# SPDX-License-Identifier: BSD-3-Clause
"""One command, from what is asked to its summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Unpack

from nodewise.api.caller import Notify, question, unheard
from nodewise.api.command_line import run_line
from nodewise.api.given import Command, Duration, Processors, StrPath, processors_of, seconds_of, words_of
from nodewise.api.history import remembered
from nodewise.api.measuring import kept, launcher_for, quiet_wait, unless_interrupted
from nodewise.api.options import HowToRun, RunChoice, choose_run, with_variables
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.note import Note
from nodewise.experiments.compare import CompareQuestion, compare
from nodewise.experiments.contenders import Contender
from nodewise.experiments.progress import Progress
from nodewise.experiments.target import resolve_command
from nodewise.machine.sources import load_machine
from nodewise.placement.traps import environment_traps
from nodewise.records.budget import Budget
from nodewise.records.experiment import read_experiment
from nodewise.runner.launch import quoted_line
from nodewise.runner.setting import Setting
from nodewise.tuning.ranks import with_ranks
from nodewise.verdicts.compare import RUN
from nodewise.verdicts.run import RunSummary, run_summary


@dataclass(frozen=True)
class Single:
    """A command that is ready to be measured."""

    question: CompareQuestion
    run: RunChoice

    def answer(self, progress: Callable[[Progress], None] = unheard, note: Notify = unheard) -> RunSummary:
        """Measure it. Ctrl-C ends with what there is. Raises what `experiments.compare.Comparer.run` does."""
        question, run = self.question, self.run
        for trap in environment_traps(question.environment):
            note(Note("warning", str(trap)))
        with launcher_for(run.options, question.environment, note, run.wait) as launcher:
            wait = quiet_wait(run.wait_quiet_s, question.machine.allowed, note)
            verdict = compare(question, launcher, progress, wait)
            missing, no_energy = launcher.counters_missing, launcher.energy_missing
        summary = run_summary(read_experiment(question.out), verdict, missing, no_energy)
        return remembered(summary, question.out, note, verdict)


def prepare_run(
    command: Sequence[str],
    run: RunChoice,
    out: Path,
    *,
    runs: int = 10,
    warmup: int = 1,
    allow: Processors | None = None,
    budget: Duration = "10min",
    resume: bool = False,
    asked: Sequence[str] = (),
) -> Single:
    """The command that is to be measured; `asked` is the command line that asks it again. Raises InputError."""
    if runs < 1:
        raise InputError("at least one run is needed", "give --runs 1 or more")
    if warmup < 0:
        raise InputError(f"--warmup: {warmup} is less than none", "give --warmup 0 or more")
    listed = None if allow is None else processors_of(allow)
    machine = load_machine(allow=listed)
    mask = None if listed is None else machine.allowed
    run, command = with_variables(run, command)
    words = (*run.start, *resolve_command(command))
    line = quoted_line(words)
    if len(run.isolation) > 1:
        raise InputError("--isolation is given more than once", "to compare several: nodewise compare --isolation …")
    isolation = run.isolation[0] if run.isolation else None
    setting = with_ranks(Setting(words, mask=mask, name=line, isolation=isolation), run.environment)
    question = CompareQuestion(
        contenders=(Contender(setting, line),),
        machine=machine,
        out=out,
        budget=Budget(seconds_of(budget, "--budget")),
        fewest=1,
        most=runs,
        warmup=warmup,
        timeout_s=run.options.timeout_s,
        cwd=run.options.cwd,
        environment=run.environment,
        asked=tuple(asked),
        objective=run.objective,
        shown=run.shown,
        resume=resume,
        accept_disturbed=run.accept_disturbed,
        how=run.how,
        kind=RUN,
    )
    return Single(question, run)


@question()
def run(
    command: Command,
    *,
    runs: int = 10,
    warmup: int = 1,
    allow: Processors | None = None,
    budget: Duration = "10min",
    out: StrPath | None = None,
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
    note: Notify | None = None,
    **how: Unpack[HowToRun],
) -> RunSummary:
    """Run one command several times, without a shell, and say how long it took, what it used and what disturbed it.

    `runs` are measured after `warmup` more, and as many besides as were disturbed, within the `budget`; `allow` holds the
    program to those processors. `out`, `resume`, `progress`, `note` and `how` are those of `nodewise.tune`.

    >>> import nodewise
    >>> summary = nodewise.run(["sleep", "0.01"], runs=3, accept_disturbed=True)
    >>> summary.runs, summary.median_s > 0.01
    (3, True)

    Raises ProgramError where it cannot be started or never ends well, InputError where something given cannot be used,
    StoreError where the runs cannot be kept, and KeyboardInterrupt on Ctrl-C, once the programs have ended.
    """
    with kept(out, resume, "run") as folder:
        words, chosen = words_of(command), choose_run(**how)
        asked: dict[str, Any] = {"runs": runs, "warmup": warmup, "allow": allow, "budget": budget}
        line = run_line(words, chosen.how, **asked)
        single = prepare_run(words, chosen, folder, **asked, resume=resume, asked=line)
        summary = single.answer(progress or unheard, note or unheard)
        unless_interrupted(summary.stopped, folder)
        return summary
