# SPDX-License-Identifier: BSD-3-Clause
"""Folders that are taken for an experiment's, and are another's: a profile's, or one of several experiments."""

from __future__ import annotations

import contextlib
from pathlib import Path


def what_it_holds(path: Path) -> str:
    """What to do with a directory that holds something else; empty where that is not known."""
    with contextlib.suppress(OSError):
        if (path / "profile.json").exists():
            return f"it holds a profile: nodewise profile --read {path}"
        parts = sorted(one.name for one in path.iterdir() if (one / "question.json").exists())
        if parts:
            return f"name one of those in it: {path / parts[0]}" + (f" ({len(parts)} in all)" if parts[1:] else "")
    return ""
