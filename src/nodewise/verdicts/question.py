# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment was asked, read back: the part of its question that verdicts and pages speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.records.experiment import Experiment
from nodewise.verdicts.encoding import decode

_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class AskedContender:
    """A command of a comparison: its name, its text as it was written, the shell that it needs (None: none)."""

    name: str
    text: str
    shell: str | None = None


@dataclass(frozen=True)
class AskedKnob:
    """A knob that was tried: the variable that sets it, by value why that helps here, and where it is documented."""

    variable: str
    source: str
    why: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """How, when and where an experiment was asked for, and what of it a verdict needs.

    `asked` are the words of the command line, `command` those of the program, or the texts of the commands compared;
    `environment` holds the variables that bear on a run, `start` what `runner.launch.start_from_json` reads. `within` is the
    difference that counts as none; `readme` is a study's.
    """

    kind: str
    started_at: str = ""
    asked: tuple[str, ...] = ()
    cwd: str = ""
    version: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    machine_is_live: bool = True
    command: tuple[str, ...] = ()
    contenders: tuple[AskedContender, ...] = ()
    axes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    knobs: Mapping[str, AskedKnob] = field(default_factory=dict)
    start: Mapping[str, Any] | None = None
    within: float = 0.01
    accept_disturbed: bool = False
    warmup: int = 0
    seed: int = 0
    readme: str = ""

    @property
    def reference(self) -> str:
        """The name of the first command of a comparison. Raises IndexError where there is none."""
        return self.contenders[0].name


def read_question_of(record: Mapping[str, Any], folder: Path) -> Question:
    """The question that is in a record. Raises InputError, which names the place, where it is damaged."""
    return _read(Question, record, folder)


def read_machine_of(record: Mapping[str, Any], folder: Path) -> Machine:
    """The machine that was asked about. Raises InputError where it is damaged."""
    return _read(Machine, record["machine"], folder)


def _read(kind: type[_Kind], data: Any, folder: Path) -> _Kind:
    try:
        return decode(kind, data)
    except ValueError as problem:
        raise InputError(f"{folder / 'question.json'} is damaged: {problem}") from problem


def question_of(experiment: Experiment) -> Question:
    """What an experiment was asked. Raises InputError where its question is damaged."""
    return read_question_of(experiment.question, experiment.path)


def machine_of(experiment: Experiment) -> Machine:
    """The machine that an experiment was asked about. Raises InputError where its question is damaged."""
    return read_machine_of(experiment.question, experiment.path)


def stopped_by(experiment: Experiment) -> str:
    """What ended it, which only its own file can say: `decided`, `budget` …; `cut off` where nothing does."""
    return str((experiment.verdict or {}).get("stopped", "cut off"))
