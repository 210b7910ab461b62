# SPDX-License-Identifier: BSD-3-Clause
"""What installed packages bring to nodewise: their entry points, which mostly there are none of."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def entry_points_of(group: str) -> list[EntryPoint]:
    """Those of a group, of all packages. It takes a tenth of what `importlib.metadata` does where there are none."""
    if not _may_be_named(group):
        return []
    from importlib.metadata import entry_points

    return list(entry_points(group=group))


def _may_be_named(group: str) -> bool:
    """Whether a package has that group among its entry points, or may have, since its files are not plain ones."""
    if any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path):
        return True
    # a file on the path is an archive
    folders = dict.fromkeys(sys.path)
    return any(Path(folder).is_file() or f"[{group}]" in _named_in(folder, _changed(folder)) for folder in folders)


def _changed(folder: str) -> int:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0


# each command asks, of folders with hundreds of files: paths as objects would take most of the time
@lru_cache
def _named_in(folder: str, changed: int) -> str:
    """What the packages in a folder say of their entry points, read again where it has changed."""
    del changed
    texts = []
    with suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if entry.name.endswith((".dist-info", ".egg-info")) or entry.name == "EGG-INFO":
                with suppress(OSError):
                    texts.append(Path(entry, "entry_points.txt").read_text(encoding="utf-8", errors="replace"))
    return "\n".join(texts)
