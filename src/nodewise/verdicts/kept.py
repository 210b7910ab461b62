# SPDX-License-Identifier: BSD-3-Clause
"""Studies and rooflines as they were kept, read back: what was asked, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from nodewise.base.errors import InputError
from nodewise.base.shapes import ShapeError, fit
from nodewise.machine.model import Machine
from nodewise.records.result_store import STUDY, read_result
from nodewise.records.secret_file import Through
from nodewise.verdicts.encoding import SCHEMA_VERSION
from nodewise.verdicts.question import Question, read_machine_of, read_question_of
from nodewise.verdicts.roofline import RooflineVerdict
from nodewise.verdicts.study import StudyVerdict

_Found = TypeVar("_Found", StudyVerdict, RooflineVerdict)


@dataclass(frozen=True)
class KeptStudy:
    """A study: one result for each run of it."""

    question: Question
    machine: Machine
    results: tuple[StudyVerdict, ...]


@dataclass(frozen=True)
class KeptRoofline:
    """A roofline."""

    question: Question
    machine: Machine
    result: RooflineVerdict


def read_kept(folder: Path, through: Through | None = None) -> KeptStudy | KeptRoofline:
    """What a directory holds. Raises InputError where that is nothing, damaged, or of another version of the results."""
    record = read_result(folder, through)
    question, machine = read_question_of(record, folder), read_machine_of(record, folder)
    if question.kind == STUDY:
        again = f"nodewise study --resume {folder} judges its runs again"
        results = record["results"]
        if not isinstance(results, list) or not results:
            raise InputError(f"{folder / 'verdict.json'} is damaged: it holds no results", again)
        return KeptStudy(question, machine, tuple(_found(StudyVerdict, one, folder, again) for one in results))
    again = "measure it again: nodewise study --roofline"
    return KeptRoofline(question, machine, _found(RooflineVerdict, record["result"], folder, again))


def _found(kind: type[_Found], data: Any, folder: Path, again: str) -> _Found:
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        called = "an older nodewise" if version is None else f"a nodewise with schema {version}"
        raise InputError(f"{folder / 'verdict.json'} is of {called}, this one reads schema {SCHEMA_VERSION}", again)
    try:
        found: _Found = fit(data, kind)
    except ShapeError as problem:
        raise InputError(f"{folder / 'verdict.json'} is damaged: {problem}", again) from problem
    return found
