# SPDX-License-Identifier: BSD-3-Clause
"""Nodes side by side, from folders of experiments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nodewise.base.errors import InputError, NodewiseError
from nodewise.history.entries import folders_below, read_entry
from nodewise.history.fleet import Fleet, fleet_of


def ask_fleet(folders: Sequence[Path], within: float) -> Fleet:
    """What the experiments in these folders, and below them, say of their nodes. Raises InputError."""
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"no such directory: {folder}", "name folders of experiments, or one that holds them")
    entries, left_out = [], []
    for folder in dict.fromkeys(folders_below(folders)):
        try:
            entry = read_entry(folder)
        except NodewiseError as problem:
            left_out.append(f"{folder} is left out: {problem.what}")
            continue
        if entry is None:
            left_out.append(f"{folder} is left out: it measured nothing yet")
        else:
            entries.append(entry)
    return fleet_of(entries, within, left_out)
