# SPDX-License-Identifier: BSD-3-Clause
"""Launch scripts: of what a tune found, or of a program as it is started now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nodewise.api.options import RunChoice, with_variables
from nodewise.base.errors import InputError, StoreError
from nodewise.jobs.script import Kept, all_forms, write_script
from nodewise.machine.given import machine as the_machine
from nodewise.records.experiment import read_experiment
from nodewise.records.kept_variables import KEPT_VARIABLES
from nodewise.runner.launch import launch_of, quoted_line, start_of
from nodewise.runner.setting import Setting
from nodewise.tuning.ranks import with_ranks
from nodewise.verdicts.question import machine_of, question_of
from nodewise.verdicts.stored import read_stored
from nodewise.verdicts.tune import TuneVerdict


def kept_of(verdict: TuneVerdict) -> Kept:
    """What a script of the best start is made of, with a head that says where it comes from."""
    folder = Path(verdict.experiment)
    experiment = read_experiment(folder)
    question, machine = question_of(experiment), machine_of(experiment)
    about = [f"Start of: {quoted_line(verdict.baseline.command)}", f"nodewise tune: {verdict.sentence}"]
    if verdict.best.key != verdict.baseline.key:
        about.append(f"Setting: {verdict.best.key}")
    if verdict.best.build:
        about.append(f"Built by: {verdict.best.build}")
    about.append(f"Measured on {machine.hostname or 'this machine'}, kept in {folder.absolute()}")
    best = experiment.settings[verdict.best.key]
    return Kept(best, machine, question.cwd, question.start, question.environment, about)


def script_of_experiment(form: str, folder: Path) -> str:
    """The script of the best start that a tune found. Raises InputError where `folder` holds none."""
    stored = read_stored(folder)
    if not isinstance(stored.verdict, TuneVerdict):
        raise InputError(
            f"{folder} holds a {stored.kind.name}, of which there is no best start", "name the directory of a tune"
        )
    return all_forms()[form].make(kept_of(stored.verdict))


def script_of_command(form: str, words: Sequence[str], run: RunChoice) -> str:
    """The script that starts a program as it would be started here and now, with as many processors as there are here.

    Raises InputError where a launcher in it does not say how many ranks it starts.
    """
    run, words = with_variables(run, words)
    environment = run.environment
    setting = with_ranks(Setting((*run.start, *words)), environment)
    inherited = {k: v for k, v in sorted(environment.items()) if k.startswith(KEPT_VARIABLES)}
    start = start_of(run.options, run.env)
    about = [f"Start of: {launch_of(setting, start).line()}"]
    return all_forms()[form].make(Kept(setting, the_machine(None), str(Path.cwd()), start, inherited, about))


def write_launch_script(verdict: TuneVerdict, kind: str = "sh", path: Path | None = None) -> Path:
    """Write the best start as a script of a form (`sh`, `slurm`, `pbs`, `pbs-alps`, `lsf`), and say where; by default in its folder. Raises StoreError."""
    folder = Path(verdict.experiment)
    target = path or folder / all_forms()[kind].file
    try:
        write_script(kind, kept_of(verdict), target)
    except OSError as problem:
        raise StoreError(
            f"cannot write {target}: {problem.strerror}", "name another file: --script KIND=FILE"
        ) from problem
    return target
