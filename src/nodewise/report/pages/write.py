# SPDX-License-Identifier: BSD-3-Clause
"""The page of whatever a directory holds, written into it."""

from __future__ import annotations

from pathlib import Path

from nodewise.base.files import write_within
from nodewise.verdicts.stored import read_stored


def write_page(folder: Path) -> Path:
    """Write `report.html` into the directory of an experiment, from what it holds. Raises InputError, StoreError."""
    stored = read_stored(folder)
    return write_within(folder, "report.html", stored.kind.load("page")(stored))
