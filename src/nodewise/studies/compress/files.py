# SPDX-License-Identifier: BSD-3-Clause
"""The files that a point names, as the native part finds them: to say which were left out, and which changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

#: How many kinds are generated, and how large a block is where nothing else is asked for.
_KINDS, _BLOCK = 5, 16 << 20


@dataclass(frozen=True)
class Seen:
    """`roots` are what was named and exists; `files` are path, size and time of change."""

    roots: tuple[Path, ...]
    files: frozenset[tuple[Path, int, int]]
    left_out: tuple[str, ...]

    def changed(self, later: Seen) -> Path | None:
        """The first file that is another one, is new or is gone, or None."""
        return min((path for path, _, _ in self.files ^ later.files), default=None)


def split_paths(text: str) -> list[Path]:
    """The paths between commas; a path that exists may have commas of its own."""
    if text and Path(text).exists():
        return [Path(text)]
    return [Path(part) for part in text.split(",") if part]


def look(files: str, folders: str) -> Seen:
    """What is there now. Links are not followed."""
    found: list[tuple[Path, int, int]] = []
    left_out: list[str] = []
    named = split_paths(files)
    for path in (*named, *(p for folder in split_paths(folders) for p in _below(folder, left_out))):
        try:
            known = path.stat(follow_symlinks=path in named)
        except OSError:
            left_out.append(str(path))
            continue
        if stat.S_ISREG(known.st_mode) and os.access(path, os.R_OK):
            found.append((path, known.st_size, known.st_mtime_ns))
        elif stat.S_ISREG(known.st_mode):
            left_out.append(str(path))
    roots = (p for p in (*named, *split_paths(folders)) if p.exists())
    return Seen(tuple(roots), frozenset(found), tuple(sorted(left_out)))


def block_sizes(point: Mapping[str, str]) -> list[int]:
    """The sizes of the blocks, in the order in which the native part has them."""
    if point.get("file") or point.get("folder"):
        found = look(point.get("file", ""), point.get("folder", "")).files
        sizes = [size for _, size, _ in sorted(found, key=lambda one: os.fsencode(one[0]))]
    else:
        kinds = _KINDS if point.get("kind", "all") == "all" else 1
        each, more = divmod(int(point["size"]), kinds)
        sizes = [each + (i < more) for i in range(kinds)]
    block = int(point.get("block", _BLOCK))
    return [min(block, size - at) for size in sizes for at in range(0, size or 1, block)]


def _below(folder: Path, left_out: list[str]) -> Iterator[Path]:
    def refused(problem: OSError) -> None:
        left_out.append(str(problem.filename))

    for where, _, names in os.walk(folder, onerror=refused):
        yield from (Path(where, name) for name in names)
