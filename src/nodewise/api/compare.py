# SPDX-License-Identifier: BSD-3-Clause
"""A comparison, from what is asked to its verdict."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from nodewise.api.caller import Notify, question, unheard
from nodewise.api.calls import contenders_of_calls, is_call
from nodewise.api.command_line import compare_line
from nodewise.api.given import (
    Command,
    Duration,
    Share,
    StrPath,
    Values,
    seconds_of,
    seed_of,
    share_of,
    values_of,
    words_of,
)
from nodewise.api.history import remembered
from nodewise.api.measuring import kept, launcher_for, quiet_wait, unless_interrupted
from nodewise.api.options import HowToRun, RunChoice, choose_run, with_same_output
from nodewise.base.difference import WITHIN
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.experiments import compare as comparer
from nodewise.experiments.compare import CompareQuestion
from nodewise.experiments.contenders import Contender, isolated, make_contenders
from nodewise.experiments.progress import Progress
from nodewise.isolation.prepare import check_rankable
from nodewise.machine.sources import load_machine
from nodewise.records.budget import Budget
from nodewise.records.experiment import read_experiment
from nodewise.runner.launch import quoted_line
from nodewise.runner.same_output import Kind
from nodewise.verdicts.compare import CompareVerdict

#: What it may take where nothing is said of that.
BUDGET = "60s"


@dataclass(frozen=True)
class Comparison:
    """A comparison that is ready to begin."""

    question: CompareQuestion
    run: RunChoice

    def answer(self, progress: Callable[[Progress], None] = unheard, note: Notify = unheard) -> CompareVerdict:
        """Measure and judge. Ctrl-C ends with what there is. Raises what `experiments.compare.Comparer.run` does."""
        question, run = self.question, self.run
        with launcher_for(run.options, question.environment, note, run.wait) as launcher:
            wait = quiet_wait(run.wait_quiet_s, question.machine.allowed, note)
            verdict = comparer.compare(question, launcher, progress, wait)
        remembered(verdict, question.out, note, verdict)
        return verdict


def prepare_compare(
    contenders: Sequence[Contender],
    run: RunChoice,
    out: Path,
    *,
    runs: int | None = None,
    min_runs: int = 1,
    max_runs: int | None = None,
    warmup: int = 1,
    budget: Duration | None = None,
    within: Share = WITHIN,
    threshold: Share | None = None,
    baseline: StrPath | None = None,
    any_machine: bool = False,
    seed: int = 0,
    resume: bool = False,
    asked: Sequence[str] = (),
    firm: bool | None = None,
) -> Comparison:
    """The comparison that is asked for; `asked` is the command line that asks it again. Raises InputError.

    A budget that is not `firm` waits for the runs that are asked for. By default one that is given is firm, and so is the usual
    one where no runs are asked for.
    """
    if runs is not None and (min_runs != 1 or max_runs is not None):
        raise InputError(
            f"--runs says how many there are, so that {'--max-runs' if max_runs is not None else '--min-runs'} would do nothing",
            "give --runs alone, or --min-runs and --max-runs",
        )
    fewest, most = (runs, runs) if runs is not None else (min_runs, max_runs)
    if min(fewest, 1 if most is None else most) < 1:
        raise InputError("at least one run is needed", "give --runs 1 or more")
    if warmup < 0:
        raise InputError(f"--warmup: {warmup} is less than none", "give --warmup 0 or more")
    if most is not None and most < fewest:
        raise InputError(f"--max-runs {most} is less than --min-runs {fewest}")
    if (
        baseline is not None
        and len(contenders) * max(1, len(run.isolation)) < 2
        and run.options.same.kind is not Kind.OFF
    ):
        raise InputError(
            "--same-output would do nothing: outputs are compared among the commands, and not with those of the --baseline",
            "check what the command prints with --expect REGEX",
        )
    if any_machine and baseline is None:
        raise InputError("--any-machine would do nothing", "it is for the comparison with a --baseline")
    for one in run.isolation:
        check_rankable(one)
    question = CompareQuestion(
        contenders=tuple(isolated(contenders, run.isolation)),
        machine=load_machine(),
        out=out,
        budget=Budget(seconds_of(BUDGET if budget is None else budget, "--budget")),
        fewest=fewest,
        most=most,
        warmup=warmup,
        within=share_of(within, "--within"),
        threshold=None if threshold is None else share_of(threshold, "--fail-if-slower", None),
        seed=seed_of(seed),
        timeout_s=run.options.timeout_s,
        cwd=run.options.cwd,
        environment=run.environment,
        asked=tuple(asked),
        objective=run.objective,
        shown=run.shown,
        resume=resume,
        same=run.options.same,
        accept_disturbed=run.accept_disturbed,
        how=run.how,
        firm=budget is not None or (runs is None and min_runs == 1) if firm is None else firm,
        # whether it can be read is to be known before the time is spent
        baseline=None if baseline is None else read_experiment(Path(baseline)),
        any_machine=any_machine,
    )
    return Comparison(question, run)


def check_enough(
    commands: int,
    others: bool,
    how: str = "write each as one text: nodewise compare './old in' './new in'; for one command: nodewise run",
) -> None:
    """Raises InputError, which says `how`, where there is nothing that a command could be compared with; `others` may come from elsewhere."""
    if not commands or (commands < 2 and not others):
        raise InputError("two commands are needed for a comparison", how)


#: How commands are handed to the function.
_EACH = "each is an argument of its own: compare('./old in', './new in'), and a list is the words of one; for one command: nodewise.run"


@question()
def compare(
    *contenders: Command | Callable[[], object],
    names: Sequence[str] = (),
    parameters: Mapping[str, Values] | None = None,
    shell: str | None = None,
    setup: str | None = None,
    prepare: str | Sequence[str] = (),
    conclude: str | Sequence[str] = (),
    cleanup: str | None = None,
    runs: int | None = None,
    min_runs: int = 1,
    max_runs: int | None = None,
    warmup: int = 1,
    budget: Duration | None = None,
    within: Share = WITHIN,
    threshold: Share | None = None,
    baseline: StrPath | None = None,
    any_machine: bool = False,
    seed: int = 0,
    same_output: StrPath | bool | None = None,
    tolerance: float | None = None,
    out: StrPath | None = None,
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
    note: Notify | None = None,
    **how: Unpack[HowToRun],
) -> CompareVerdict:
    """Measure commands, or functions, in random interleaved blocks, and say which is faster; the first is the reference.

    A command is a text, as for a shell (which it gets where its syntax is used, see `shell`), or its words. A function is
    one that stands in a module, or `functools.partial` of one where it has arguments; each of its runs is a fresh process of
    this Python, and its time is that of the call, without the start of Python and the import of its module.

    `parameters` are values for `{NAME}` in commands and in the shell commands around them: `setup` before the first run
    of each and `cleanup` after the last, `prepare` before and `conclude` after each run. `runs` are made of each, or
    `min_runs` to `max_runs`, until it is clear how each compares or the `budget` ends (60 s where no runs are asked for). A
    difference up to `within` counts as none; with `threshold` it goes on until it is clear whether that slowdown is
    exceeded. `baseline` is the folder of an earlier experiment to compare it with, of this machine or, with
    `any_machine`, of another. `same_output`, `tolerance`, `out`,
    `resume`, `progress`, `note` and `how` are those of `nodewise.tune`; here outputs are not compared unless that is asked.

    >>> import nodewise
    >>> verdict = nodewise.compare("sleep 0.03", ["sleep", "0.01"], names=["old", "new"], runs=6)
    >>> [row.name for row in verdict.contenders]
    ['old', 'new']

    Raises ProgramError where a command fails at its first run, InputError where something given cannot be used or the
    budget is too small, StoreError where the runs cannot be kept, and KeyboardInterrupt on Ctrl-C, once the programs have ended.
    """
    with kept(out, resume, "compare") as folder:
        run = with_same_output(choose_run(**how), Kind.OFF, same_output, tolerance)
        steps: dict[str, Any] = {
            "setup": setup,
            "prepare": [prepare] if isinstance(prepare, str) else prepare,
            "conclude": [conclude] if isinstance(conclude, str) else conclude,
            "cleanup": cleanup,
        }
        asked: dict[str, Any] = {
            "runs": runs,
            "min_runs": min_runs,
            "max_runs": max_runs,
            "warmup": warmup,
            "budget": budget,
            "within": within,
            "threshold": threshold,
            "baseline": baseline,
            "any_machine": any_machine,
            "seed": seed,
        }
        check_enough(len(contenders) * max(1, len(run.isolation)), baseline is not None or bool(parameters), _EACH)
        if any(map(is_call, contenders)):
            if parameters or shell:
                raise InputError(
                    "functions have no parameters and no shell here", "give arguments by functools.partial(function, …)"
                )
            token = f"call-{secrets.token_hex(8)}"
            made = contenders_of_calls(contenders, names, folder, token, resume, **steps)
            run = dataclasses.replace(run, options=dataclasses.replace(run.options, returns=token))
            line: tuple[str, ...] = ()
        else:
            commands = [c for c in contenders if not callable(c)]
            if shell is None and not any(isinstance(c, str) for c in commands):
                # where all are words by themselves a shell has no part in them
                shell = "none"
            made = _of_commands(commands, names, parameters, shell, {**steps, "start": run.start})
            line = compare_line(
                commands,
                run.how,
                names=names,
                parameters=parameters,
                shell=shell,
                steps=steps,
                **asked,
                same_output=same_output,
                tolerance=tolerance,
            )
        comparison = prepare_compare(made, run, folder, **asked, resume=resume, asked=line)
        verdict = comparison.answer(progress or unheard, note or unheard)
        unless_interrupted(verdict.stopped, folder)
        return verdict


def _of_commands(
    commands: Sequence[Command],
    names: Sequence[str],
    parameters: Mapping[str, Values] | None,
    shell: str | None,
    steps: Mapping[str, Any],
) -> list[Contender]:
    """Commands as a user writes them."""
    texts = [c if isinstance(c, str) else quoted_line(words_of(c)) for c in commands]
    return make_contenders(texts, values_of(parameters), names=names, shell=shell, **steps)
