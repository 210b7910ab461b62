# SPDX-License-Identifier: BSD-3-Clause
"""The files that a point names, as the native part finds them: to say which were left out, and which changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Seen:
    """`roots` are what was named; `files` are path, size and time of change."""

    roots: tuple[str, ...]
    files: frozenset[tuple[str, int, int]]
    left_out: tuple[str, ...]

    def changed(self, later: Seen) -> str | None:
        """The first file that is another one, is new or is gone, or None."""
        return min((path for path, _, _ in self.files ^ later.files), default=None)


def split_paths(text: str) -> list[str]:
    """The paths between commas; a path that exists may have commas of its own."""
    return [text] if text and os.path.exists(text) else [part for part in text.split(",") if part]


def look(files: str, folders: str) -> Seen:
    """What is there now. Links are not followed."""
    found: list[tuple[str, int, int]] = []
    left_out: list[str] = []
    roots = (*split_paths(files), *split_paths(folders))
    for path in (*split_paths(files), *(p for f in split_paths(folders) for p in _below(f, left_out))):
        try:
            known = os.stat(path, follow_symlinks=path in roots)
        except OSError:
            left_out.append(path)
            continue
        if stat.S_ISREG(known.st_mode):
            if os.access(path, os.R_OK):
                found.append((path, known.st_size, known.st_mtime_ns))
            else:
                left_out.append(path)
    return Seen(tuple(r for r in roots if os.path.exists(r)), frozenset(found), tuple(sorted(left_out)))


def _below(folder: str, left_out: list[str]) -> Iterator[str]:
    def refused(problem: OSError) -> None:
        left_out.append(str(problem.filename))

    for where, _, names in os.walk(folder, onerror=refused):
        yield from (os.path.join(where, name) for name in names)
