# SPDX-License-Identifier: BSD-3-Clause
"""A stored result that no experiment made."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodewise.machine.model import Machine
from nodewise.records.experiment import SCHEMA, Writer
from nodewise.records.inherited import inherited_facts


def keep_result(
    folder: Path,
    kind: str,
    content: Mapping[str, Any],
    machine: Machine,
    environment: Mapping[str, str],
    asked: Sequence[str],
) -> dict[str, Any]:
    """Keep results that were got without an experiment of their own; the record as `read_result` gives it.

    Of `content` `results` or `result` are what was found, the rest belongs to the question. The directory is made. Raises
    StoreError.
    """
    found = {name: content[name] for name in ("results", "result") if name in content}
    rest = {name: value for name, value in content.items() if name not in found}
    question = {"kind": kind, **inherited_facts(machine, environment, asked), **rest}
    with Writer(folder, question) as writer:
        writer.store_result(found)
    return {"nodewise_experiment": SCHEMA, **question, **found}
