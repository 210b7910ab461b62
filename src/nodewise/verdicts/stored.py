# SPDX-License-Identifier: BSD-3-Clause
"""What the directory of an experiment holds, of whatever kind, read back and judged: all that a page or an export is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generic, TypeVar

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.shapes import ShapeError, fit
from nodewise.machine.model import Machine
from nodewise.records.experiment import Experiment, read_experiment, read_question
from nodewise.records.kind import Kind
from nodewise.records.kind_registry import kind_named
from nodewise.records.result_store import read_result
from nodewise.records.secret_file import Through
from nodewise.verdicts.encoding import SCHEMA_VERSION
from nodewise.verdicts.question import Question, machine_of, question_of, read_machine_of, read_question_of

Verdict = TypeVar("Verdict")


@dataclass(frozen=True)
class Stored(Generic[Verdict]):
    """An experiment with its verdicts: one, or of a study one for each run of it.

    `folder` is its directory as pages name it. `record` holds its samples (None: of that kind only what was found is read).
    """

    kind: Kind
    folder: Path
    question: Question
    machine: Machine
    verdicts: tuple[Verdict, ...]
    record: Experiment | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict, or the first of several."""
        return self.verdicts[0]

    @property
    def experiment(self) -> Experiment:
        """The samples. Raises ValueError where the kind's verdict is not judged from these."""
        if self.record is None:
            raise ValueError(f"the samples of a {self.kind.name} are not read")
        return self.record


def stored(experiment: Experiment, verdict: Verdict) -> Stored[Verdict]:
    """An experiment that was read and judged already. Raises InputError where its question is damaged."""
    question = question_of(experiment)
    return Stored(
        kind_named(question.kind), experiment.path, question, machine_of(experiment), (verdict,), record=experiment
    )


def read_stored(folder: Path, through: Through | None = None, called: Path | None = None) -> Stored[Any]:
    """What a directory holds, which verdicts name as `called`, where that is not its own name.

    Raises InputError where it holds nothing, nothing that can be judged, something damaged, or results of another version.
    """
    kind = kind_named(read_question(folder)["kind"])
    if not kind.keeps:
        experiment = read_experiment(folder, through=through)
        experiment.path = called or folder
        return stored(experiment, kind.load("judge")(experiment))
    record = read_result(folder, through)
    found = record[kind.keeps]
    several = found if isinstance(found, list) else [found]
    if not several:
        raise InputError(f"{folder / 'verdict.json'} is damaged: it holds no {kind.keeps}", _hint(kind, folder))
    verdicts = tuple(_kept(kind, one, folder) for one in several)
    return Stored(kind, called or folder, read_question_of(record, folder), read_machine_of(record, folder), verdicts)


def _kept(kind: Kind, data: Any, folder: Path) -> Any:
    """A verdict as it was kept. Raises InputError where it is damaged or of another version."""
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        called = "an older nodewise" if version is None else f"a nodewise with schema {version}"
        raise InputError(
            f"{folder / 'verdict.json'} is of {called}, this one reads schema {SCHEMA_VERSION}", _hint(kind, folder)
        )
    try:
        return fit(data, kind.load("verdict"))
    except ShapeError as problem:
        raise InputError(f"{folder / 'verdict.json'} is damaged: {problem}", _hint(kind, folder)) from problem


def _hint(kind: Kind, folder: Path) -> str:
    return f"make it again with: {kind.remake_line(folder)}"
