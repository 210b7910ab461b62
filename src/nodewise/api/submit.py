# SPDX-License-Identifier: BSD-3-Clause
"""Experiments as jobs of Slurm."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any, Unpack

from nodewise.api.caller import question
from nodewise.api.command_line import tune_line
from nodewise.api.given import Command, Duration, Processors, Share, StrPath, Values, words_of
from nodewise.api.options import HowToRun, RunChoice, choose_run, with_variables
from nodewise.base.difference import WITHIN
from nodewise.base.errors import InputError
from nodewise.base.files import no_room
from nodewise.experiments.first_run import check_runs
from nodewise.jobs.submission import (
    LOG,
    SUBMIT,
    Array,
    array_text,
    job_text,
    queued,
    read_array,
    read_options,
    task_folder,
)
from nodewise.jobs.submission import submit as submit_job
from nodewise.records.experiment import read_question
from nodewise.runner.find_program import find_program
from nodewise.tuning.ranks import read_ranked
from nodewise.verdicts.submitted import Submitted

#: The words of a command for the folder that it keeps its runs in.
Words = Callable[[Path], Sequence[str]]


def check_starts(words: Sequence[str], run: RunChoice, build: str | None = None) -> None:
    """Raises ProgramError for a program that is not there before a job waits in a queue to find that out; a `build` may make it yet."""
    if build is None:
        environment, program = with_variables(run, words)
        find_program(program, environment.environment, run.options.cwd)


def with_nodes(options: str, commands: Sequence[Sequence[str]], run: RunChoice) -> str:
    """Further options of sbatch, with as many nodes as the launchers of the commands say, where those do not say how many. Raises InputError."""
    nodes = 1
    for words in commands:
        if (ranked := read_ranked((*run.start, *words))) is not None:
            nodes = max(nodes, ceil(ranked.ranks / ranked.on_node(ranked.ranks, {})))
    said = any(word.partition("=")[0] in ("nodes", "ntasks", "nodelist") for word in options.split())
    return options if nodes == 1 or said else f"nodes={nodes} {options}".strip()


def submit_suite(folder: Path, words: Words, options: str, array: Array | None = None) -> Submitted:
    """Hand a suite's run to Slurm by the words behind `nodewise` for a folder, which go on with what that holds.

    Of an `array` each task runs the whole suite, in a folder of its own in `folder`. Raises as `submit_tune`.
    """
    folder = folder.absolute()
    own = folder if array is None else task_folder(folder)
    return _handed(folder, words(own), words(own), read_options(options), "suite run", array)


def submit_words(folder: Path, first: Words, again: Words, options: str, array: Array | None = None) -> Submitted:
    """Hand any experiment to Slurm: `first` gives the words behind `nodewise` that begin it in a folder, `again` those that go on.

    Of an `array` each task is an experiment of its own, in a folder of its own in `folder`. Raises as `submit_tune`.
    """
    sbatch = read_options(options)
    if (folder / "question.json").exists() or next(folder.glob("*/question.json"), None) is not None:
        raise InputError(f"{folder} holds experiments already", "choose another directory with --out")
    folder = folder.absolute()
    own = folder if array is None else task_folder(folder)
    return _handed(folder, first(own), again(own), sbatch, SUBMIT, array)


def submit_again(folder: Path, options: str) -> tuple[str, Submitted]:
    """Hand what an experiment's folder holds to Slurm, to go on there; what kind it is, and the job. Raises as `submit_tune`."""
    sbatch = read_options(options)
    folder = folder.absolute()
    kind = str(read_question(folder)["kind"])
    words = (kind, "--resume", str(folder))
    return kind, _handed(folder, words, words, sbatch, SUBMIT)


def submit_array(folder: Path, first: Words, more: Sequence[str], options: str, array: Array) -> Submitted:
    """Hand a tune to Slurm as an array: each task is a tune of its own, in a folder of its own in `folder`.

    `first` gives the words behind `nodewise` for such a folder, `more` is said again where a task goes on. Raises as `submit_tune`.
    """
    sbatch = read_options(options)
    if next(folder.glob("*/question.json"), None) is not None:
        raise InputError(f"{folder} holds experiments already", "choose another directory with --out")
    folder = folder.absolute()
    own = task_folder(folder)
    again = ("tune", "--resume", str(own), *more)
    return _handed(folder, first(own), again, sbatch, "tune", array)


def _handed(
    folder: Path,
    first: Sequence[str],
    again: Sequence[str],
    sbatch: Sequence[str],
    command: str,
    array: Array | None = None,
) -> Submitted:
    there = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
    if (full := no_room(there)) is not None:
        # its job would wait in the queue for nothing
        raise full
    nodewise = (sys.executable, "-m", "nodewise")
    own = folder if array is None else task_folder(folder)
    text = job_text(own, folder.name, str(Path.cwd()), (*nodewise, *first), (*nodewise, *again), command)
    number = submit_job(folder, text if array is None else array_text(text), sbatch, array)
    return Submitted("submitted", number, str(folder), str((own if array is None else task_folder(folder, "*")) / LOG))


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
    array: int | str | None = None,
    resume: bool = False,
    budget: Duration | None = "2min",
    max_runs: int | None = None,
    axes: str | Sequence[str] | None = None,
    parameters: Mapping[str, Values] | None = None,
    env_axes: Mapping[str, Values] | None = None,
    build: str | None = None,
    constraints: Sequence[str] = (),
    allow: Processors | None = None,
    within: Share = WITHIN,
    seed: int = 0,
    sweep: str | Sequence[str] | None = None,
    history: bool = True,
    same_output: StrPath | bool | None = None,
    tolerance: float | None = None,
    **how: Unpack[HowToRun],
) -> Submitted:
    """Hand a tune to Slurm as one job, which goes on by itself when it is requeued, killed or at its time limit.

    `sbatch` are further options of that program by their long names, `out` is where the runs are kept, which has to be seen
    from the nodes; all else is as `nodewise.tune` has it. With `resume` what `out` holds goes on, by the options of then. Once
    the job has ended, `nodewise.tune` with the same arguments and `resume=True` gives its verdict.

    With `array`, 8 or "8%2", there are as many tunes, at most so many (2) at once, in `out`/task-1 and so on: `nodewise fleet out` holds
    the nodes that they ran on against each other.

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
    if resume and array is not None:
        raise InputError("an array begins anew", "resume one of its tasks by its own folder")
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
        "sweep": sweep,
        "history": history,
    }
    if budget is None and max_runs is None:
        raise InputError("a tune without a bound might never end", "give budget, max_runs or both")
    run = choose_run(**how)
    check_starts(words_of(command), run, build)
    check_runs(max_runs)
    sbatch = with_nodes(sbatch, [words_of(command)], run)
    line = tune_line(words_of(command), run.how, **given, same_output=same_output, tolerance=tolerance)
    if not line:
        raise InputError("a job is a command line, on which this cannot be said", "give plain values")
    at = line.index("tune") + 1

    def first(own: Path) -> tuple[str, ...]:
        return (*line[1:at], "--out", str(own.absolute()), *line[at:])

    if array is not None:
        return submit_array(folder, first, (), sbatch, read_array(str(array)))
    return submit_tune(folder, first(folder), (), sbatch, False)
