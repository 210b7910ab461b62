# SPDX-License-Identifier: BSD-3-Clause
"""A tune as one job of Slurm."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from nodewise.api.caller import question
from nodewise.api.command_line import tune_line
from nodewise.api.given import Command, Duration, Processors, Share, StrPath, Values, words_of
from nodewise.api.options import HowToRun, choose_run
from nodewise.base.errors import InputError
from nodewise.jobs.submission import LOG, job_text, queued, read_options
from nodewise.jobs.submission import submit as submit_job
from nodewise.records.experiment import read_question
from nodewise.verdicts.submitted import Submitted


def submit_suite(folder: Path, words: Sequence[str], options: str) -> Submitted:
    """Hand a suite's run to Slurm by the words behind `nodewise`, which go on with what `folder` holds. Raises as `submit_tune`."""
    return _handed(folder.absolute(), words, words, read_options(options), "suite run")


def _handed(folder: Path, first: Sequence[str], again: Sequence[str], sbatch: Sequence[str], command: str) -> Submitted:
    nodewise = (sys.executable, "-m", "nodewise")
    text = job_text(folder, folder.name, str(Path.cwd()), (*nodewise, *first), (*nodewise, *again), command)
    return Submitted("submitted", submit_job(folder, text, sbatch), str(folder), str(folder / LOG))


def submit_tune(folder: Path, first: Sequence[str], more: Sequence[str], options: str, resume: bool) -> Submitted:
    """Hand `first`, the words behind `nodewise`, to Slurm, to be gone on with in `folder`; `more` is said again then.

    With `resume` it goes on at once with what the folder holds, by `first`. Raises InputError, UnavailableError, StoreError.
    """
    sbatch = read_options(options)
    if resume:
        # one that waits in the queue has measured nothing yet
        if queued(folder) is None:
            read_question(folder)
    elif (folder / "question.json").exists():
        raise InputError(f"{folder} holds an experiment already", f"go on with it: --resume {folder} --submit")
    folder = folder.absolute()
    again = first if resume else ("tune", "--resume", str(folder), *more)
    return _handed(folder, first, again, sbatch, "tune")


@question()
def submit(
    command: Command,
    *,
    out: StrPath,
    sbatch: str = "",
    resume: bool = False,
    budget: Duration | None = "2min",
    max_runs: int | None = None,
    axes: str | Sequence[str] | None = None,
    parameters: Mapping[str, Values] | None = None,
    env_axes: Mapping[str, Values] | None = None,
    build: str | None = None,
    constraints: Sequence[str] = (),
    allow: Processors | None = None,
    within: Share = 0.01,
    seed: int = 0,
    same_output: StrPath | bool | None = None,
    tolerance: float | None = None,
    **how: Unpack[HowToRun],
) -> Submitted:
    """Hand a tune to Slurm as one job, which goes on by itself when it is requeued, killed or at its time limit.

    `sbatch` are further options of that program by their long names, `out` is where the runs are kept, which has to be seen
    from the nodes; all else is as `nodewise.tune` has it. With `resume` what `out` holds goes on, by the options of then. Once
    the job has ended, `nodewise.tune` with the same arguments and `resume=True` gives its verdict.

    >>> import nodewise
    >>> nodewise.submit("./app", out="tuned", sbatch="partition long")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
        ...
    nodewise.InputError: sbatch 'partition long' are no options of sbatch

    Raises InputError for what cannot be asked, where a job of this experiment is queued already, or where sbatch refuses
    it, UnavailableError without Slurm, and StoreError where the folder cannot be written.
    """
    folder = Path(out)
    try:
        read_options(sbatch)
    except InputError as problem:
        raise InputError(problem.what, "write them by their long names: 'partition=long time=4:00:00'") from None
    if resume:
        line: tuple[str, ...] = ("nodewise", "tune", "--resume", str(folder.absolute()))
        return submit_tune(folder, line[1:], (), sbatch, True)
    given: dict[str, Any] = {
        "budget": budget,
        "max_runs": max_runs,
        "axes": axes,
        "parameters": parameters,
        "env_axes": env_axes,
        "build": build,
        "constraints": constraints,
        "machine": None,
        "allow": allow,
        "within": within,
        "seed": seed,
    }
    if budget is None and max_runs is None:
        raise InputError("a tune without a bound might never end", "give budget, max_runs or both")
    line = tune_line(words_of(command), choose_run(**how).how, **given, same_output=same_output, tolerance=tolerance)
    if not line:
        raise InputError("a job is a command line, on which this cannot be said", "give plain values")
    at = line.index("tune") + 1
    first = (*line[1:at], "--out", str(folder.absolute()), *line[at:])
    return submit_tune(folder, first, (), sbatch, False)
