# SPDX-License-Identifier: BSD-3-Clause
"""What every question stores besides its own."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nodewise
from nodewise.machine.model import Machine
from nodewise.records.commit import commit_of
from nodewise.records.kept_variables import KEPT_VARIABLES
from nodewise.records.neighbours import user_name


def inherited_facts(machine: Machine, environment: Mapping[str, str], asked: Sequence[str]) -> dict[str, Any]:
    """What every question stores besides its own: the machine, the variables that bear on a run, who asked and how to ask again."""
    commit = commit_of(Path.cwd())
    return {
        "asked": list(asked),
        "cwd": str(Path.cwd()),
        "user": user_name(),
        "home": environment.get("HOME", ""),
        "machine": machine.to_json(),
        "machine_is_live": machine.live,
        "environment": {k: v for k, v in sorted(environment.items()) if k.startswith(KEPT_VARIABLES)},
        "version": nodewise.__version__,
        "id": uuid.uuid4().hex,
        "commit": commit and asdict(commit),
        "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
