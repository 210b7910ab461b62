# SPDX-License-Identifier: BSD-3-Clause
"""An entry of history made of an experiment's folder; secrets are masked in it as in what the folder keeps."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from os import walk
from pathlib import Path
from typing import Any

from nodewise.history.entry import Entry
from nodewise.machine.model import Machine
from nodewise.verdicts.baseline import facts_of
from nodewise.verdicts.question import Question
from nodewise.verdicts.stored import Stored, read_stored

#: A program that is named by a path from the working directory is another one elsewhere.
_FROM_HERE = re.compile(r"(?:^|\s)[\w.-]+/")


def entry_of(stored: Stored[Any]) -> Entry | None:
    """What history keeps of an experiment; None where its kind has no points, or none was measured."""
    kind, question = stored.kind, stored.question
    points = tuple(kind.load("points")(stored)) if kind.points else ()
    if not points:
        return None
    verdict = stored.verdict
    return Entry(
        key=question.id or _made_key(question, stored.machine),
        kind=kind.name,
        at=seconds_since_1970(question.started_at),
        points=points,
        version=question.version,
        folder=str(stored.folder.absolute()),
        project=_project(question),
        host=stored.machine.hostname,
        processor=stored.machine.processor.model,
        conditions=_conditions(stored.machine, question),
        commit=question.commit,
        stopped=str(getattr(verdict, "stopped", "")),
        sentence=str(getattr(verdict, "sentence", "")),
        learned=kind.load("learned")(stored) if kind.learned else None,
    )


def read_entry(folder: Path) -> Entry | None:
    """The entry of the experiment in a folder. Raises InputError where there is none, or it is damaged."""
    return entry_of(read_stored(folder))


def folders_below(roots: Iterable[Path]) -> Iterator[Path]:
    """The folders of experiments in these, or in folders below them; links are not followed."""
    for root in roots:
        for folder, below, files in walk(root):
            if "question.json" in files:
                below.clear()
                yield Path(folder)
            below.sort()


def seconds_since_1970(text: str) -> float:
    """A time in ISO 8601, of UTC where it names no zone; 0 for what is none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _made_key(question: Question, machine: Machine) -> str:
    """Of an experiment from before they had one of their own: no two of these are alike by chance."""
    parts = [question.kind, question.started_at, question.cwd, question.asked, question.seed, machine.hostname]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _project(question: Question) -> str:
    if question.commit is not None:
        return question.commit.repository
    return question.cwd if any(_FROM_HERE.search(word) for word in question.command) else ""


def _conditions(machine: Machine, question: Question) -> dict[str, str]:
    facts = {name: str(value) for name, value in facts_of(machine).items() if value not in (None, "")}
    return facts | dict(question.environment)
