# SPDX-License-Identifier: BSD-3-Clause
"""A promise repeated, from what is asked to whether it holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from nodewise.api.caller import Notify, question, unheard
from nodewise.api.command_line import confirm_line
from nodewise.api.given import Duration, Share, StrPath, seconds_of, seed_of, share_of
from nodewise.api.history import remembered
from nodewise.api.measuring import kept, launcher_for, quiet_wait, unless_interrupted
from nodewise.api.options import HowToRun, RunChoice, choose_run, with_rule, with_same_output
from nodewise.api.recorded import environment_then, over, plain_how, recorded_how
from nodewise.api.trust import check_owner
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.units import format_count
from nodewise.experiments import confirm as confirmer
from nodewise.experiments.compare import CompareQuestion
from nodewise.experiments.confirm import Repetition, check_runnable, moved_paths, repetition_of
from nodewise.experiments.progress import Progress
from nodewise.machine.sources import load_machine
from nodewise.records.budget import Budget
from nodewise.records.experiment import Experiment, read_experiment
from nodewise.records.kept_variables import KEPT_VARIABLES
from nodewise.records.secret_file import Revealed
from nodewise.runner.launch import start_of
from nodewise.verdicts.compare import looks_of
from nodewise.verdicts.confirm import ConfirmVerdict
from nodewise.verdicts.question import Question, question_of

#: The fewest runs of each that an interval takes.
_FEWEST = looks_of(1).fewest


@dataclass(frozen=True)
class Confirmation:
    """A promise that is ready to be repeated; `notes` are what is to be said of how."""

    repetition: Repetition
    question: CompareQuestion
    run: RunChoice
    notes: tuple[str, ...] = ()

    def answer(self, progress: Callable[[Progress], None] = unheard, note: Notify = unheard) -> ConfirmVerdict:
        """Measure and judge. Ctrl-C ends with what there is. Raises what `experiments.compare.Comparer.run` does."""
        asked, run = self.question, self.run
        with launcher_for(replace(run.options, as_printed=True), asked.environment, note, run.wait) as launcher:
            wait = quiet_wait(run.wait_quiet_s, asked.machine.allowed, note)
            verdict = confirmer.confirm(self.repetition, asked, launcher, progress, self.notes, wait)
        return remembered(verdict, asked.out, note, verdict)


def prepare_confirm(
    experiment: Path,
    arguments: Sequence[str],
    out: Path,
    *,
    runs: int | None = None,
    max_runs: int | None = None,
    warmup: int = 1,
    budget: Duration = "60s",
    within: Share | None = None,
    seed: int = 0,
    same_output: StrPath | bool | None = None,
    tolerance: float | None = None,
    resume: bool = False,
    asked: Sequence[str] = (),
    through: Revealed | None = None,
    how: Mapping[str, Any] | None = None,
) -> Confirmation:
    """What repeats the promise of an experiment; `how` are keywords that replace those given then, `through` what shows its secrets.

    `asked` is the command line that asks it again. Raises InputError.
    """
    if runs is not None and max_runs is not None:
        raise InputError("--runs and --max-runs cannot both be given", "the first says how many there are")
    for option, most in (("--runs", runs), ("--max-runs", max_runs)):
        if most is not None and most < _FEWEST:
            raise InputError(
                f"{format_count(most, 'run')} of each decide{'s' * (most == 1)} nothing",
                f"give {option} {_FEWEST} or more",
            )
    if warmup < 0:
        raise InputError(f"--warmup {warmup} is below none", "give 0 or more")
    if (how or {}).get("isolation"):
        raise InputError("isolation cannot be given to confirm: settings run as recorded", "leave it out")
    earlier = read_experiment(experiment, through=through or Revealed(experiment))
    then = question_of(earlier)
    run = _as_then(earlier, then, how or {}, same_output, tolerance)
    environment = {**environment_then(then.environment), **run.env}
    run_in = run.options.cwd or Path.cwd()
    other, moved = moved_paths(arguments, run_in)
    start = start_of(run.options, run.env)
    # a line for the shell that one is in
    start = replace(start, cwd="") if run_in.resolve() == Path.cwd().resolve() else start
    repetition = repetition_of(earlier, other, start)
    machine = load_machine()
    check_runnable(repetition, machine)
    asked_now = CompareQuestion(
        contenders=repetition.contenders,
        machine=machine,
        out=out,
        budget=Budget(seconds_of(budget, "--budget")),
        fewest=1 if runs is None else runs,
        most=max_runs if runs is None else runs,
        warmup=warmup,
        within=then.within if within is None else share_of(within, "--within"),
        seed=seed_of(seed),
        timeout_s=run.options.timeout_s,
        cwd=run.options.cwd,
        environment=environment,
        asked=tuple(asked),
        objective=run.objective,
        shown=run.shown,
        resume=resume,
        same=run.options.same,
        accept_disturbed=run.accept_disturbed,
        how=run.how,
    )
    return Confirmation(repetition, asked_now, run, (*moved, *_changed_environment(then)))


def _as_then(
    earlier: Experiment,
    then: Question,
    now: Mapping[str, Any],
    same_output: StrPath | bool | None,
    tolerance: float | None,
) -> RunChoice:
    """How the programs were run then, with what is given now over it."""
    kept_how, rule = recorded_how(earlier.question, earlier.path)
    how = over({"cwd": then.cwd, **kept_how}, now)
    if not Path(how["cwd"]).is_dir():
        raise InputError(f"the directory in which it was run is gone: {how['cwd']}", "name another one with --cwd")
    run = choose_run(**{**how, "cwd": Path(how["cwd"]).absolute()})
    if same_output is not None or tolerance is not None:
        chosen = with_same_output(run, rule.kind, same_output, tolerance)
        if same_output is not None:
            return chosen
        rule = replace(rule, tolerance=chosen.options.same.tolerance)
    return with_rule(run, rule)


def _changed_environment(then: Question) -> list[str]:
    """Which of the variables that bear on a run are set otherwise now than then: runs are made as then."""
    now = {k: v for k, v in os.environ.items() if k.startswith(KEPT_VARIABLES)}
    old = then.environment
    changed = sorted(k for k in now.keys() | old.keys() if now.get(k) != old.get(k))
    return [
        f"{name} is {now.get(name, 'not set')} now; runs are made as then, with it "
        + (f"set to {old[name]}" if name in old else "not set")
        for name in changed
    ]


@question()
def confirm(
    experiment: StrPath,
    *,
    arguments: Sequence[StrPath] = (),
    runs: int | None = None,
    max_runs: int | None = None,
    warmup: int = 1,
    budget: Duration = "60s",
    within: Share | None = None,
    seed: int = 0,
    same_output: StrPath | bool | None = None,
    tolerance: float | None = None,
    out: StrPath | None = None,
    resume: bool = False,
    trust: bool = False,
    progress: Callable[[Progress], None] | None = None,
    note: Notify | None = None,
    **how: Unpack[HowToRun],
) -> ConfirmVerdict:
    """Run again what a tune or a comparison promised, in the same blocks as what it was compared with, and say whether it holds.

    `experiment` is the folder that it left (`verdict.experiment`). Both settings run exactly as recorded, in fresh interleaved
    blocks, in the directory and with the keywords given then; those given now replace them. `arguments` replace the program's, or
    the whole command where they begin as it does. `within` is by default the same as then. What runs are the commands that the folder
    names: where it belongs to another user that takes `trust`. `runs` or `max_runs` (of each, at least six), `budget` and the others are those
    of `nodewise.compare`.

    >>> import nodewise
    >>> then = nodewise.compare("sleep 0.05", "sleep 0.01", runs=12, accept_disturbed=True)
    >>> now = nodewise.confirm(then.experiment, max_runs=30)
    >>> now.promise.ratio > 2
    True
    >>> now.verdict.value in ("holds", "undecided")  # the latter where this machine is busy
    True

    Raises InputError where the experiment promised nothing, cannot be repeated here or something given cannot be used,
    ProgramError where the program does not run as it is, StoreError where the runs cannot be kept, and KeyboardInterrupt on
    Ctrl-C, once the programs have ended.
    """
    with kept(out, resume, "confirm") as folder:
        source = Path(experiment).absolute()
        check_owner(source, trust)
        words = tuple(os.fspath(word) for word in arguments)
        given: dict[str, Any] = {
            "budget": budget,
            "runs": runs,
            "max_runs": max_runs,
            "warmup": warmup,
            "within": within,
            "seed": seed,
            "same_output": same_output,
            "tolerance": tolerance,
        }
        line = confirm_line(source, words, plain_how(how), **given)
        asked = prepare_confirm(source, words, folder, **given, resume=resume, asked=line, how=how)
        verdict = asked.answer(progress or unheard, note or unheard)
        unless_interrupted(verdict.stopped, folder)
        return verdict
