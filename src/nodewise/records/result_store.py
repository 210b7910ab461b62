# SPDX-License-Identifier: BSD-3-Clause
"""Results that are one file: what a study or a roofline measured, with the machine and all that its page needs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.records.experiment import inherited_facts, make_directory, write_whole

SCHEMA = 1
FILE = "result.json"
STUDY, ROOFLINE = "study", "roofline"


def keep_result(
    folder: Path,
    kind: str,
    content: Mapping[str, Any],
    machine: Machine,
    environment: Mapping[str, str],
    asked: Sequence[str],
) -> dict[str, Any]:
    """Write a result of that kind into a directory, which is made; the record as `read_result` gives it.

    Raises StoreError.
    """
    record = {"nodewise_result": SCHEMA, "kind": kind, **inherited_facts(machine, environment, asked), **content}
    make_directory(folder)
    write_whole(folder / FILE, json.dumps(record, indent=1) + "\n")
    return record


def holds_result(folder: Path) -> bool:
    """Whether a directory holds such a result."""
    return (folder / FILE).is_file()


def read_result(folder: Path) -> dict[str, Any]:
    """The record in a directory. Raises InputError where there is none, or it is damaged or newer than this nodewise."""
    path = folder / FILE
    try:
        record = json.loads(path.read_text())
    except OSError as problem:
        raise InputError(f"{folder} holds no result: {problem.strerror}") from problem
    except ValueError as problem:
        raise InputError(f"{path} is damaged: {problem}") from problem
    if not isinstance(record, dict) or record.get("nodewise_result") != SCHEMA:
        raise InputError(f"{path} is not a result that this nodewise can read")
    if record.get("kind") not in (STUDY, ROOFLINE):
        raise InputError(f"{path} holds a result of an unknown kind: {record.get('kind')!r}")
    return record
