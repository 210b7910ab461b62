# SPDX-License-Identifier: BSD-3-Clause
"""A study that is installed, or in a folder, from what is asked to its rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodewise.api.caller import Notify, question, unheard
from nodewise.api.command_line import study_line
from nodewise.api.given import Duration, StrPath, check_threads, seconds_of
from nodewise.api.history import remembered
from nodewise.api.measuring import kept, launcher_for, quiet_wait, unless_interrupted
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.note import Note
from nodewise.experiments.progress import StudyProgress
from nodewise.experiments.study import StudyQuestion, run_study
from nodewise.experiments.study_ranks import asked_ranks
from nodewise.machine.model import Machine
from nodewise.machine.sources import load_machine
from nodewise.runner.launcher import RunOptions
from nodewise.studies.contract import parse_knobs
from nodewise.studies.discovery import Found, find_study
from nodewise.verdicts.study import StudyVerdict

_QUICK_S, _USUAL_S = 50.0, 120.0
_USUAL_BLOCKS = 25
#: How often each contender runs of a study that is asked for in full, as of a published protocol of messages.
FULL_BLOCKS = 201


@dataclass(frozen=True)
class Study:
    """A study that is ready to begin."""

    question: StudyQuestion
    out: Path
    machine: Machine
    wait_quiet_s: float | None = None
    wait: bool = False

    def answer(self, progress: Callable[[StudyProgress], None] = unheard, note: Notify = unheard) -> StudyVerdict:
        """Measure every contender and judge them. Ctrl-C ends with what there is. Raises what `experiments.study.run_study` does."""
        threads, processors = self.question.all_threads, self.machine.parallelism
        if threads > processors:
            note(Note("warning", f"{threads} threads share {processors} processors, and wait for each other"))
        with launcher_for(RunOptions(), self.question.environment, note, self.wait) as launcher:
            wait = quiet_wait(self.wait_quiet_s, self.machine.allowed, note)
            verdict = run_study(self.question, launcher, progress, wait, lambda text: note(Note("note", text)))
        return remembered(verdict, self.out, note)


def prepare_study(
    found: Found,
    out: Path,
    *,
    knobs: Sequence[str] = (),
    threads: int | None = None,
    launcher: str | None = None,
    ranks: int | None = None,
    ranks_per_node: int | None = None,
    quick: bool = False,
    full: bool = False,
    only: Sequence[str] = (),
    blocks: int = _USUAL_BLOCKS,
    budget: Duration | None = None,
    resume: bool = False,
    accept_disturbed: bool = False,
    wait_quiet: Duration | None = None,
    wait: bool = False,
    asked: Sequence[str] = (),
) -> Study:
    """The study that is asked for, `knobs` as `NAME=VALUE`; `asked` is the command line that asks it again. Raises InputError."""
    check_threads(threads)
    if blocks < 1:
        raise InputError(f"{blocks} blocks measure nothing", "give --blocks 1 or more")
    if full and (quick or budget is not None or blocks != _USUAL_BLOCKS):
        raise InputError(
            f"--full is {FULL_BLOCKS} runs of each, however long they take, and --quick, --budget and --blocks say otherwise",
            "give one of them",
        )
    machine = load_machine()
    started = asked_ranks(found, launcher, ranks, ranks_per_node)
    usual = found.study.threads or machine.parallelism
    if started is not None:
        usual = max(1, machine.parallelism // started.ranks)
    question = StudyQuestion(
        found=found,
        point=found.study.point(parse_knobs(knobs), quick),
        threads=threads or usual,
        ranks=started,
        blocks=FULL_BLOCKS if full else blocks,
        seconds=_QUICK_S if quick else _USUAL_S,
        firm=quick or budget is not None,
        quick=quick,
        full=full,
        limit_s=_QUICK_S if quick and budget is None else None,
        only=tuple(only),
        out=out,
        resume=resume,
        accept_disturbed=accept_disturbed,
        asked=tuple(asked),
    )
    if budget is not None:
        question = replace(question, seconds=seconds_of(budget, "--budget"))
    quiet_s = None if wait_quiet is None else seconds_of(wait_quiet, "--wait-quiet")
    return Study(question, out, machine, quiet_s, wait)


@question()
def study(
    name: StrPath,
    *,
    knobs: Mapping[str, str | int | float] | None = None,
    threads: int | None = None,
    launcher: str | None = None,
    ranks: int | None = None,
    ranks_per_node: int | None = None,
    quick: bool = False,
    full: bool = False,
    only: Sequence[str] = (),
    blocks: int = _USUAL_BLOCKS,
    budget: Duration | None = None,
    out: StrPath | None = None,
    resume: bool = False,
    accept_disturbed: bool = False,
    wait_quiet: Duration | None = None,
    wait: bool = False,
    progress: Callable[[StudyProgress], None] | None = None,
    note: Notify | None = None,
) -> StudyVerdict:
    """Run a study: its variants, its peers and the machine's limit, interleaved, each a row against the others.

    `name` is that of one that is installed, or the folder of another; `knobs` are its own, such as `{"class": "A"}`, and
    `only` the contenders to run. With `launcher` and `ranks` each runs as so many ranks of `threads` threads, where the study
    can. Each runs in `blocks` at most, within the `budget` (2 min, or longer where each has not
    run six times by then); `quick` ends within a minute, and `full` runs each 201 times, however long that takes. The runs are kept where `out` is given. `resume`, `progress` and `note`
    are those of `nodewise.tune`, `wait_quiet` and `wait` those of `nodewise.HowToRun`.

    >>> import nodewise
    >>> verdict = nodewise.study("is", knobs={"class": "S"}, threads=1, blocks=1, accept_disturbed=True)
    >>> verdict.study
    'is'

    Raises InputError for a study, a knob or a contender that is not there or a budget that is too small, StoreError where the
    runs cannot be kept, and KeyboardInterrupt on Ctrl-C, once the programs have ended.
    """
    with kept(out, resume, "study", named=False) as folder:
        given: dict[str, Any] = {
            "knobs": [f"{knob}={value}" for knob, value in (knobs or {}).items()],
            "threads": threads,
            "launcher": launcher,
            "ranks": ranks,
            "ranks_per_node": ranks_per_node,
            "quick": quick,
            "full": full,
            "only": only,
            "blocks": blocks,
            "budget": budget,
            "accept_disturbed": accept_disturbed,
            "wait_quiet": wait_quiet,
            "wait": wait,
        }
        found, line = find_study(os.fspath(name)), study_line(name, **given)
        asked = prepare_study(found, folder, **given, resume=resume, asked=line)
        verdict = asked.answer(progress or unheard, note or unheard)
        unless_interrupted(verdict.stopped, folder)
        return verdict
