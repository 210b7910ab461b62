# SPDX-License-Identifier: BSD-3-Clause
"""An entry of history made of an experiment's folder; secrets are masked in it as in what the folder keeps."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from os import walk
from pathlib import Path
from typing import Any

from nodewise.base.lists import listed
from nodewise.history.entry import Entry
from nodewise.machine.model import Machine
from nodewise.runner.objective import format_metric
from nodewise.verdicts.baseline import facts_of
from nodewise.verdicts.compare import CompareVerdict
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
    if question.commit is None:
        points = tuple(replace(point, anywhere=_FROM_HERE.search(point.name) is None) for point in points)
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
        sentence=_sentence(verdict),
        learned=kind.load("learned")(stored) if kind.learned else None,
    )


def _sentence(verdict: Any) -> str:
    """What came of it, in a line: where a verdict has none of its own, that of its rows."""
    if not isinstance(verdict, CompareVerdict):
        return str(getattr(verdict, "sentence", ""))
    rows = [row for row in verdict.contenders if row.median is not None]
    if len(rows) == 1 and rows[0].median is not None:
        runs = f"{rows[0].runs} run{'s' * (rows[0].runs != 1)}"
        return f"{format_metric(verdict.metric, rows[0].median, verdict.currency)}, median of {runs}"
    if len(rows) == 2 and len(verdict.pairs) == 1:
        pair = verdict.pairs[0]
        ratio = "" if pair.ratio is None else f"{pair.ratio:.4g}× "
        return f"{pair.other}: {ratio}{pair.verdict.value}"
    if rows and len(verdict.fastest) < len(rows):
        return f"fastest of {len(rows)}: {listed(verdict.fastest)}"
    return f"none of {len(rows)} is shown to be faster than all others" if rows else ""


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
