# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment was asked, read back: the part of its question that verdicts and pages use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

from nodewise.base.difference import WITHIN
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.shapes import ShapeError, fit
from nodewise.machine.model import Machine, machine_from_json
from nodewise.records.commit import Commit
from nodewise.records.earlier import Earlier
from nodewise.records.experiment import Experiment
from nodewise.runner.launch import Start
from nodewise.tuning.wanted import Wanted

_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class AskedContender:
    """A command of a comparison: its name, its text as it was written, the shell that it needs (None: none).

    `steps` are the fields of `experiments.contenders.Steps`: what goes before and after its runs.
    """

    name: str
    text: str
    shell: str | None = None
    steps: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AskedKnob:
    """A knob that was tried: the variable that sets it, by value why that helps here, and where it is documented:
    as a whole, or by value in `sources`."""

    variable: str
    source: str
    why: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """How, when and where an experiment was asked for, and what of it a verdict needs.

    `id` tells it from all others (empty: an older one), `commit` is that of the working directory. `asked` are the words of the command line, `command` those of the program, or the texts of the commands compared;
    `environment` holds the variables that bear on a run, `start` what holds for every start. `wanted` is what a tune was
    asked to try; of each of `axes` `untried` has the positions of the values that no run had, once it is known. `within` is the difference that counts as none; `readme` is a study's.
    The search of a tune started from those `earlier`, which its runs `refuted` or not.
    `sweep` is the number of settings of a tune that runs them all, `unswept` how many of them no run had, once it is known.
    """

    kind: str
    id: str = ""
    commit: Commit | None = None
    started_at: str = ""
    asked: tuple[str, ...] = ()
    cwd: str = ""
    version: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    machine_is_live: bool = True
    command: tuple[str, ...] = ()
    contenders: tuple[AskedContender, ...] = ()
    axes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    untried: tuple[tuple[int, ...], ...] = ()
    knobs: Mapping[str, AskedKnob] = field(default_factory=dict)
    start: Start = field(default_factory=Start)
    wanted: Wanted = field(default_factory=Wanted)
    within: float = WITHIN
    accept_disturbed: bool = False
    warmup: int = 0
    seed: int = 0
    readme: str = ""
    earlier: tuple[Earlier, ...] = ()
    refuted: bool = False
    sweep: int | None = None
    unswept: int = 0


def read_question_of(record: Mapping[str, Any], folder: Path) -> Question:
    """The question that is in a record. Raises InputError, which names the place, where it is damaged."""
    return read_part(Question, record, folder)


def read_machine_of(record: Mapping[str, Any], folder: Path) -> Machine:
    """The machine that was asked about. Raises InputError where it is damaged."""
    try:
        return machine_from_json(record["machine"], "machine")
    except ShapeError as problem:
        raise _damaged(folder, problem) from problem


def read_part(kind: type[_Kind], data: Any, folder: Path) -> _Kind:
    """A part of the question that is kept in a directory. Raises InputError, which names the place, where it is damaged."""
    try:
        found: _Kind = fit(data, kind)
    except ShapeError as problem:
        raise _damaged(folder, problem) from problem
    return found


def _damaged(folder: Path, problem: ShapeError) -> InputError:
    return InputError(f"{folder / 'question.json'} is damaged: {problem}")


def question_of(experiment: Experiment) -> Question:
    """What an experiment was asked. Raises InputError where its question is damaged."""
    return read_question_of(experiment.question, experiment.path)


def machine_of(experiment: Experiment) -> Machine:
    """The machine that an experiment was asked about. Raises InputError where its question is damaged."""
    return read_machine_of(experiment.question, experiment.path)


def stopped_by(experiment: Experiment) -> str:
    """What ended it, which only its own file can say: `decided`, `budget` …; `cut off` where nothing does."""
    return str((experiment.verdict or {}).get("stopped", "cut off"))
