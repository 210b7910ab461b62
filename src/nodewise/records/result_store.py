# SPDX-License-Identifier: BSD-3-Clause
"""Results that are kept as they were found, as those of studies and rooflines: with all that their pages need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nodewise.base.bounded_json import parse_json, read_bounded
from nodewise.base.errors import InputError
from nodewise.records.experiment import read_question
from nodewise.records.kind_registry import kind_named
from nodewise.records.secret_file import Through

STUDY, ROOFLINE = "study", "roofline"
_VERDICT = "verdict.json"


def read_result(folder: Path, through: Through | None = None) -> dict[str, Any]:
    """Question and findings in one. Raises InputError where there is none, or it is damaged or of another version."""
    question = read_question(folder, through)
    kind = kind_named(question["kind"])
    if not kind.keeps:
        raise InputError(f"{folder} holds a {kind.name}, whose verdict is judged from its samples")
    path = folder / _VERDICT
    try:
        found = parse_json(read_bounded(path))
    except FileNotFoundError as problem:
        raise InputError(
            f"{folder} was cut off before its end (no {_VERDICT})", f"get it with: {kind.remake_line(folder)}"
        ) from problem
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror}") from problem
    except ValueError as problem:
        raise InputError(f"{path} is damaged: {problem}") from problem
    if not isinstance(found, dict) or kind.keeps not in found:
        raise InputError(f"{path} is damaged: it holds no {kind.keeps}")
    return {**question, **(found if through is None else through.found(found))}
