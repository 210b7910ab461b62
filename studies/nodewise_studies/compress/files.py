# SPDX-License-Identifier: BSD-3-Clause
"""The files that a point names, as the native part finds them: to say which were left out, and which changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

#: How many kinds are generated; their bytes, those of a block and MiB of a window where nothing else is asked for.
_KINDS, _SIZE, _BLOCK, _WINDOW = 5, 8 << 20, 16 << 20, 256
#: What the system takes for a path at most.
_LONGEST = 4096


@dataclass(frozen=True)
class Seen:
    """`roots` are what was named and exists; `files` are path, size and time of change."""

    roots: tuple[Path, ...]
    files: frozenset[tuple[Path, int, int]]
    left_out: tuple[str, ...]

    def changed(self, later: Seen) -> Path | None:
        """The first file that is another one, is new or is gone, or None."""
        return min((path for path, _, _ in self.files ^ later.files), default=None)


@dataclass(frozen=True)
class Block:
    """So many bytes of a file (None: of a generated one), which are compressed by themselves."""

    path: Path | None
    offset: int
    size: int

    def read(self) -> bytes:
        """Its bytes now. Raises RuntimeError where the file has become shorter."""
        assert self.path is not None
        with self.path.open("rb") as file:
            file.seek(self.offset)
            found = file.read(self.size)
        if len(found) != self.size:
            raise RuntimeError(f"{self.path} changed while it was read: measure when nothing writes to it")
        return found


def split_paths(text: str) -> list[Path]:
    """The paths between commas. A path may have commas of its own: of the parts from one on, the most that exist together
    are one path.
    """
    paths: list[Path] = []
    while text:
        end = len(text) if len(text) <= _LONGEST else text.rfind(",", 0, _LONGEST)
        while end > 0 and not os.path.exists(text[:end]):  # noqa: PTH110 - thousands of times, and a Path costs more than the look
            end = text.rfind(",", 0, end)
        if end <= 0:
            end = text.find(",") if "," in text else len(text)
        paths += [Path(text[:end])] if end else []
        text = text[end + 1 :]
    return paths


def look(files: str, folders: str) -> Seen:
    """What is there now. Links below the folders are not followed."""
    found: list[tuple[Path, int, int]] = []
    left_out: list[str] = []
    named, roots = ([p.resolve() for p in split_paths(text)] for text in (files, folders))
    for path in (*named, *(p for folder in roots for p in _below(folder, left_out))):
        try:
            known = path.stat(follow_symlinks=False)
        except OSError:
            left_out.append(str(path))
            continue
        if stat.S_ISREG(known.st_mode) and os.access(path, os.R_OK):
            found.append((path, known.st_size, known.st_mtime_ns))
        elif stat.S_ISREG(known.st_mode):
            left_out.append(str(path))
    return Seen(tuple(p for p in (*named, *roots) if p.exists()), frozenset(found), tuple(sorted(set(left_out))))


def windows_of(point: Mapping[str, str]) -> list[list[Block]]:
    """The blocks of each window, as the native part cuts them and in its order."""
    files: list[tuple[Path | None, int]] = []
    if point.get("file") or point.get("folder"):
        found = look(point.get("file", ""), point.get("folder", "")).files
        files += [(path, size) for path, size, _ in sorted(found, key=lambda one: os.fsencode(one[0]))]
    else:
        kinds = _KINDS if point.get("kind", "all") == "all" else 1
        each, more = divmod(int(point.get("size", _SIZE)), kinds)
        files += [(None, each + (i < more)) for i in range(kinds)]
    block, window = int(point.get("block", _BLOCK)), int(point.get("window", _WINDOW)) << 20
    windows: list[list[Block]] = [[]]
    used = 0
    for path, size in files:
        for at in range(0, size or 1, block):
            one = Block(path, at, min(block, size - at))
            if used and used + one.size > window:
                windows.append([])
                used = 0
            windows[-1].append(one)
            used += one.size
    return windows


def _below(folder: Path, left_out: list[str]) -> Iterator[Path]:
    def refused(problem: OSError) -> None:
        left_out.append(str(problem.filename))

    for where, _, names in os.walk(folder, onerror=refused):
        yield from (Path(where, name) for name in names)
